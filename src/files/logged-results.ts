// Results in logs, as `--log-result` prints them: compressed, in short lines between two that mark them. Each line names its
// result and its own number, so that logs of several processes may be mixed, and each line may have a prefix.
import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { inflateResult } from './inflate-result.js';

/** Characters of Base64 in a line; with what stands before them a line has at most 76. */
const LINE_LENGTH = 60;

const MARK =
  /^(.*?)-----(BEGIN|END) MILLRACE RESULT ([0-9a-f]{8})(?: share (\d{1,7}\/\d{1,7}))?, (\d{1,7}) lines-----/;
const LINE = /(?<![0-9a-z])([0-9a-f]{8})\.(\d{1,7}) ([A-Za-z0-9+/]+=*)/;

/** Formats a result, given as JSON, as lines for a log; `share` is its share of a run, as `2/3`. */
export function formatLoggedResult(json: string, share: string | null): string {
  const id = randomBytes(4).toString('hex');
  const text = deflateSync(json).toString('base64');
  const parts = text.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  const name = `MILLRACE RESULT ${id}${share === null ? '' : ` share ${share}`}`;
  const mark = (word: string) => `-----${word} ${name}, ${parts.length} lines-----`;
  const lines = parts.map((part, index) => `${id}.${index + 1} ${part}`);
  return `${[mark('BEGIN'), ...lines, mark('END')].join('\n')}\n`;
}

/** Reports whether a text is a log with results, or with a part of one. */
export function hasLoggedResults(text: string): boolean {
  return /-----(?:BEGIN|END) MILLRACE RESULT [0-9a-f]{8}/.test(text);
}

/** A result in a log. */
export interface LoggedResult {
  /** What tells it from others: its share, and the pod that `kubectl logs --prefix` names. */
  label: string;
  /** That pod; `null` if no line names one. */
  pod: string | null;
  share: string | null;
  /** Why it is not complete; `null` if it is. */
  damage: string | null;
  /** Returns it as JSON. */
  read(): string;
}

/** Finds all results in a log, in the order in which they begin. */
export function findLoggedResults(text: string): LoggedResult[] {
  const found = new Map<string, Pieces>();
  for (const line of text.split('\n')) {
    const mark = MARK.exec(line);
    if (mark) addMark(found, mark);
    else addLine(found, line);
  }
  // What only looks like a line of a result has no mark.
  return [...found.values()].filter(({ count }) => count > 0).map(join);
}

/** What a log has of a result. */
interface Pieces {
  share: string | null;
  pod: string | null;
  /** How many lines it has; 0 as long as no mark says so. */
  count: number;
  hasBegin: boolean;
  lines: Map<number, string>;
}

function findPieces(found: Map<string, Pieces>, id: string): Pieces {
  const known = found.get(id);
  if (known) return known;
  const pieces = { share: null, pod: null, count: 0, hasBegin: false, lines: new Map() };
  found.set(id, pieces);
  return pieces;
}

function addMark(found: Map<string, Pieces>, mark: RegExpExecArray): void {
  const [, prefix = '', kind, id = '', share, count] = mark;
  const pieces = findPieces(found, id);
  const [, pod] = /\[pod\/([^/\]]+)/.exec(prefix) ?? [];
  pieces.pod ??= pod ?? null;
  pieces.share ??= share ?? null;
  pieces.count = Number(count);
  pieces.hasBegin ||= kind === 'BEGIN';
}

function addLine(found: Map<string, Pieces>, line: string): void {
  const [, id, number, part] = LINE.exec(line) ?? [];
  if (id !== undefined && part !== undefined) {
    findPieces(found, id).lines.set(Number(number), part);
  }
}

function join({ share, pod, count, lines, hasBegin }: Pieces): LoggedResult {
  const label = `the result${share === null ? '' : ` of share ${share}`}${pod === null ? '' : ` (pod ${pod})`}`;
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const parts = numbers.map((number) => lines.get(number)).filter((part) => part !== undefined);
  // kubectl prints the last 10 lines of each pod where pods are chosen by a label.
  const advice = hasBegin ? '' : '; kubectl logs -l needs --tail=-1';
  const isComplete = parts.length === count;
  return {
    ...{ label, pod, share },
    damage: isComplete
      ? null
      : `is cut off: the log has ${parts.length} of its ${count} lines${advice}`,
    read: () => inflateResult(parts.join(''), label),
  };
}

import { formatStatus } from '../../load/grpc-statuses.js';
import type { Range } from '../../validation/units.js';

/** What is compared of an answer. */
export interface ResponseSummary {
  /** `null` where there was no response. */
  status: number | null;
  /** What went wrong, else `null`. */
  error: string | null;
  contentType: string | null;
  contentEncoding: string | null;
  /** Bytes of the content; `null` if not known. */
  contentBytes: number | null;
  /** `contentBytes` may include the framing of chunks. */
  isAbout: boolean;
  /** The content's beginning; `null` where it is no text. */
  text: string | null;
  /** `text` is all of it. */
  isWhole: boolean;
}

/** Relative difference up to which the lengths of contents that vary, or that are compressed, count as equal. */
const MAX_VARIATION = 0.05;

/** Relative difference up to which lengths that are not known exactly count as equal. */
const MAX_INEXACT = 0.01;

/**
 * Says how the answers of two sides to one request differ, `null`: they do not. Each side was asked several times: what
 * differs within a side, such as a date or an id, is not compared.
 */
export function describeAnswerDifference(
  a: readonly ResponseSummary[],
  b: readonly ResponseSummary[],
): string | null {
  return (
    findFieldDifference(a, b, describeOutcome) ??
    findFieldDifference(a, b, ({ contentType }) => `content type ${contentType ?? 'none'}`) ??
    findFieldDifference(a, b, describeEncoding) ??
    findTextDifference(a, b) ??
    findLengthDifference(a, b)
  );
}

function describeOutcome({ status, error }: ResponseSummary): string {
  if (status === null) return error === null ? 'no status' : `no response (${error})`;
  const name = formatStatus(status);
  return error === null ? `status ${name}` : `status ${name}, broken off (${error})`;
}

function describeEncoding({ contentEncoding }: ResponseSummary): string {
  return `content encoding ${contentEncoding ?? 'none'}`;
}

function findFieldDifference(
  a: readonly ResponseSummary[],
  b: readonly ResponseSummary[],
  describe: (answer: ResponseSummary) => string,
): string | null {
  const [[of, ...more], [other, ...others]] = [new Set(a.map(describe)), new Set(b.map(describe))];
  if (of === other || more.length > 0 || others.length > 0) return null;
  return `${of} of A, ${other} of B`;
}

/** Words and numbers, and what stands between them. */
const TOKENS = /[\w.+/=-]+|[^\w.+/=-]+/g;

function findTextDifference(
  a: readonly ResponseSummary[],
  b: readonly ResponseSummary[],
): string | null {
  const [tokensOfA, tokensOfB] = [readTokens(a), readTokens(b)];
  const [of = [], other = []] = [tokensOfA?.[0], tokensOfB?.[0]];
  // No text, or one whose shape varies: nothing that compares.
  if (!tokensOfA || !tokensOfB) return null;
  const varies = (index: number) =>
    [tokensOfA, tokensOfB].some((texts) => texts.some((it) => it[index] !== texts[0]?.[index]));
  const [ends, otherEnds] = [a, b].map((answers) => answers.every(({ isWhole }) => isWhole));
  // The last token of a beginning may be cut.
  const cutOff = Math.min(
    ends ? Number.POSITIVE_INFINITY : of.length - 1,
    otherEnds ? Number.POSITIVE_INFINITY : other.length - 1,
  );
  const length = Math.min(Math.max(of.length, other.length), cutOff);
  for (let index = 0; index < length; index++) {
    if (of[index] === other[index] || varies(index)) continue;
    return `content ${excerpt(of, index)} of A, ${excerpt(other, index)} of B`;
  }
  return null;
}

/** The tokens of each answer's text; `null` if one is no text, or if they differ in number. */
function readTokens(answers: readonly ResponseSummary[]): string[][] | null {
  if (answers.some(({ text }) => text === null)) return null;
  const texts = answers.map(({ text }) => text?.match(TOKENS) ?? []);
  const isWhole = answers.every((answer) => answer.isWhole);
  return isWhole && texts.some(({ length }) => length !== texts[0]?.length) ? null : texts;
}

const EXCERPT_BEFORE = 20;
const EXCERPT_LENGTH = 50;

function excerpt(tokens: readonly string[], index: number): string {
  const before = tokens.slice(0, index).join('').slice(-EXCERPT_BEFORE);
  const text = `${before}${tokens.slice(index).join('')}`;
  if (text === '') return 'empty';
  const line = text.slice(0, EXCERPT_LENGTH).replace(/\s+/g, ' ');
  return `'${line}'${text.length > EXCERPT_LENGTH ? '...' : ''}`;
}

function findLengthDifference(
  a: readonly ResponseSummary[],
  b: readonly ResponseSummary[],
): string | null {
  const all = [...a, ...b];
  // Of text that is known as a whole the comparison says more.
  if (all.every(({ text, isWhole }) => text !== null && isWhole)) return null;
  const [of, other] = [a, b].map(readLengths);
  if (!of || !other) return null;
  const isVarying = [a, b].some((answers) => new Set(answers.map(({ text }) => text)).size > 1);
  const isCompressed = all.some(({ contentEncoding }) => contentEncoding !== null);
  const inexact = all.some(({ isAbout }) => isAbout) ? MAX_INEXACT : 0;
  const tolerance = isVarying || isCompressed ? MAX_VARIATION : inexact;
  const gap = Math.max(of.min - other.max, other.min - of.max);
  if (gap <= tolerance * Math.max(of.max, other.max)) return null;
  return `${of.max} bytes of content of A, ${other.max} of B`;
}

/** The shortest and the longest content of a side; `null` if one is not known. */
function readLengths(answers: readonly ResponseSummary[]): Range | null {
  const lengths = answers.flatMap(({ contentBytes }) => contentBytes ?? []);
  if (lengths.length < answers.length) return null;
  return { min: Math.min(...lengths), max: Math.max(...lengths) };
}

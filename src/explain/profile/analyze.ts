import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HotFunction } from '../result.js';
import {
  buildCallTree,
  buildKey,
  type CallFrame,
  type CallNode,
  findPackage,
  isApplication,
  isProbeCode,
  isStackCode,
  type ProfileNode,
  walkFrames,
} from './call-tree.js';
import {
  findOutputFunctions,
  isConsole,
  type OutputFunctions,
  sendsResponse,
  writesResponse,
} from './output-functions.js';
import { type Place, SourceMaps } from './source-maps.js';

/** V8's CPU profile, as the DevTools protocol has it. Times are in microseconds. */
export interface CpuProfile {
  nodes: ProfileNode[];
  samples?: number[];
  timeDeltas?: number[];
}

/** A stretch in which the loop had no rest. */
export interface LongTask {
  ms: number;
  /** The application's function in which most of it was spent; `null`: none was. */
  mainFunction: HotFunction | null;
}

/** What a profile says. Shares are of the time that was not idle. */
export interface ProfileView {
  busyMs: number;
  idleMs: number;
  /** The functions in which most time was spent themselves; of Node's own those that were called of it, told apart by who of the application called. */
  self: HotFunction[];
  /** The application's functions with most time, what they call included. */
  inclusive: HotFunction[];
  /** Share of the time in calls of `node:fs`: who waits there would wait in the pool of threads. */
  files: number;
  /** Share of the time in the console and in loggers: what they format, and the writing. */
  printing: number;
  /** The same with the service's own functions that write output for others, which may do more than that. */
  printingAtMost: number;
  /** Share of the time in writing to sockets, printing left out. */
  writing: number;
  /** Share of the time in opening connections to others, and in TLS but for what it carries. */
  connecting: number;
  /** The longest stretches without a rest. Flat out this is the whole profile. */
  longTasks: LongTask[];
}

const MAX_FUNCTIONS = 10;
const MAX_LONG_TASKS = 5;

/** Reads a profile. Source maps are read from where the profile's files are. */
export function analyseProfile({ nodes, samples = [], timeDeltas = [] }: CpuProfile): ProfileView {
  const tree = buildCallTree(nodes);
  const writers = findOutputFunctions([...tree.values()]);
  const names = new FunctionNames();
  const self = new FunctionTimes();
  const inclusive = new FunctionTimes();
  const tasks: { ms: number; functions: FunctionTimes }[] = [];
  let task: { ms: number; functions: FunctionTimes } | null = null;
  let idleMs = 0;
  const activityMs = { files: 0, printing: 0, printingAtMost: 0, writing: 0, connecting: 0 };
  for (const [index, id] of samples.entries()) {
    // A sample stands for the time to the next one; of the last nothing is known.
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1000;
    const node = tree.get(id);
    if (!node || node.frame.functionName === '(idle)') {
      idleMs += ms;
      task = null;
      continue;
    }
    if (isProfilerFrame(node.frame)) continue;
    self.add(names.nameSelf(node), ms);
    for (const activity of findActivities(node, writers)) activityMs[activity] += ms;
    if (!task) {
      task = { ms: 0, functions: new FunctionTimes() };
      tasks.push(task);
    }
    task.ms += ms;
    // A function that calls itself counts once.
    for (const name of new Set(
      findApplicationFrames(node).map((frame) => names.nameFrame(frame)),
    )) {
      inclusive.add(name, ms);
      task.functions.add(name, ms);
    }
  }
  const share = (ms: number) => ms / Math.max(1, self.total);
  const longest = tasks.sort((a, b) => b.ms - a.ms).slice(0, MAX_LONG_TASKS);
  return {
    busyMs: self.total,
    idleMs,
    self: self.top(self.total),
    inclusive: inclusive.all(self.total),
    files: share(activityMs.files),
    printing: share(activityMs.printing),
    printingAtMost: share(activityMs.printingAtMost),
    writing: share(activityMs.writing),
    connecting: share(activityMs.connecting),
    longTasks: longest.map(({ ms, functions }) => ({
      ms,
      mainFunction: functions.top(ms)[0] ?? null,
    })),
  };
}

/** Of functions with shares of the time, most first, the first that is neither Node's nor Millrace's. */
export function findTopOutsideNode(functions: HotFunction[]): HotFunction | undefined {
  return functions.find(({ place }) => place !== '' && !place.startsWith('node:'));
}

/** While a profile is taken the debugger is told of each line that is printed: time that there is not otherwise. */
function isProfilerFrame(frame: CallFrame): boolean {
  return frame.functionName === 'consoleCall' && frame.url === '';
}

type Activity = 'files' | 'printing' | 'printingAtMost' | 'writing' | 'connecting';

/** What is being done in a frame or in one of its callers. */
function findActivities(called: CallNode, { loggers, own }: OutputFunctions): Iterable<Activity> {
  const found = new Set<Activity>();
  for (const frame of walkFrames(called)) {
    const key = buildKey(frame);
    if (/^node:(fs|internal\/fs)/.test(frame.url)) found.add('files');
    if (isConsole(frame) || loggers.has(key)) found.add('printing').add('printingAtMost');
    if (own.has(key)) found.add('printingAtMost');
    if (writesResponse(frame)) found.add('writing');
  }
  if (found.has('printing')) found.delete('writing');
  if (isConnecting(called)) found.add('connecting');
  return found;
}

/** Where Node opens a connection, and does the handshake of TLS. */
const CONNECTING = [
  [/^node:(_tls_|internal\/tls\/)/, /./],
  [/^node:net$/, /onnect/],
  [/^node:(_http_agent|https)$/, /^create/],
] as const;
/** Connections that come, which are opened by others. */
const ACCEPTING = /onnectionListener|^onconnection|ServerSocket/;

/** What listeners do when there is a connection is their own. */
function isConnecting(called: CallNode): boolean {
  const frames = [...walkFrames(called)];
  const outside = frames.findIndex((frame) => !isNodeCode(frame));
  const within = outside < 0 ? frames : frames.slice(0, outside);
  if (within.some(({ functionName }) => ACCEPTING.test(functionName))) return false;
  return within.some(({ url, functionName }) =>
    CONNECTING.some(([file, name]) => file.test(url) && name.test(functionName)),
  );
}

/** From the innermost to the outermost. */
function findApplicationFrames(called: CallNode): CallFrame[] {
  return [...walkFrames(called)].filter(isApplication);
}

/** A function by name and place, in one string: a key. */
type FunctionKey = string;

class FunctionTimes {
  total = 0;
  readonly #ms = new Map<FunctionKey, number>();

  add(name: FunctionKey, ms: number): void {
    this.total += ms;
    this.#ms.set(name, (this.#ms.get(name) ?? 0) + ms);
  }

  /** The largest first. */
  all(ofMs: number): HotFunction[] {
    return [...this.#ms]
      .sort(([, a], [, b]) => b - a)
      .map(([key, ms]) => {
        const [name = '', place = ''] = key.split('\n');
        return { name, place, share: ofMs > 0 ? ms / ofMs : 0 };
      });
  }

  top(ofMs: number): HotFunction[] {
    return this.all(ofMs).slice(0, MAX_FUNCTIONS);
  }
}

class FunctionNames {
  readonly #maps = new SourceMaps();
  readonly #names = new Map<CallFrame, FunctionKey>();

  /** What is Node's or V8's own, as `inspect` or `stringify`, is told as that which was called of it, and by whom of the application. */
  nameSelf(node: CallNode): FunctionKey {
    const { frame } = node;
    if (isProbeCode(frame) || isStackCode(frame)) return MILLRACE;
    if (!isNodeCode(frame)) return this.nameFrame(frame);
    const name = frame.functionName || '(anonymous)';
    if (frame.url === '' && isPseudoFunction(name)) return `${name}\n`;
    if (isWritingResponse(node)) return WRITING_RESPONSES;
    const frames = [...walkFrames(node)].filter((it) => !isProfilerFrame(it));
    const outside = frames.findIndex((it) => !isNodeCode(it));
    const called = frames[outside - 1];
    const caller = frames.find(isApplication) ?? frames[outside];
    if (!called || !caller) return frame.url === '' ? `${name}\n` : this.nameFrame(frame);
    const [callerName = '', place = ''] = this.nameFrame(caller).split('\n');
    return `${called.functionName || '(anonymous)'} called from ${callerName}\n${place}`;
  }

  nameFrame(frame: CallFrame): FunctionKey {
    const known = this.#names.get(frame);
    if (known) return known;
    const { url, lineNumber, columnNumber } = frame;
    const place = this.#maps.findOriginal({
      file: toPath(url),
      line: lineNumber,
      column: columnNumber,
    });
    const name = `${frame.functionName || '(anonymous)'}\n${formatPlace(place)}`;
    this.#names.set(frame, name);
    return name;
  }
}

/** The probe, or the native stack under the application. */
const MILLRACE: FunctionKey = '(millrace)\n';

/**
 * System calls on a response's way to its socket. Who of the application has ended the response is not named: a profile shows far too much
 * time in them where cores are few, as the thread that takes it gets its turn when they end.
 */
const WRITING_RESPONSES: FunctionKey = '(writing responses)\n';

/** Whether a response is being written, by what the innermost function outside of Node has called. */
function isWritingResponse(called: CallNode): boolean {
  for (const frame of walkFrames(called)) {
    if (isApplication(frame) || findPackage(frame) !== null) return false;
    if (sendsResponse(frame)) return true;
  }
  return false;
}

/** Built into V8, or of Node's own code. */
function isNodeCode({ url }: CallFrame): boolean {
  return url === '' || url.startsWith('node:');
}

/** `(garbage collector)`, `(program)`. */
function isPseudoFunction(name: string): boolean {
  return name.startsWith('(') && name !== '(anonymous)';
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

function formatPlace({ file, line }: Place): string {
  const near = isAbsolute(file) ? relative(process.cwd(), file) : file;
  return `${near.startsWith('..') ? file : near}:${line + 1}`;
}

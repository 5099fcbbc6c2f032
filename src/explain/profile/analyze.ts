import type { HotFunction } from '../result.js';
import { CallTimes, type TimedCall } from './call-times.js';
import {
  buildCallTree,
  buildKey,
  type CallFrame,
  type CallNode,
  type CpuProfile,
  isIdle,
  walkFrames,
} from './call-tree.js';
import { findPackage, isApplication, isMillraceCode, isProfilerFrame } from './code-origin.js';
import { FrameResolver } from './frame-resolver.js';
import {
  findOutputFunctions,
  isConsole,
  type OutputFunctions,
  sendsResponse,
  writesResponse,
} from './output-functions.js';

/** A period in which the loop did not idle. */
export interface LongTask {
  ms: number;
  /** The application's function that took most of it; `null` if there was none. */
  mainFunction: HotFunction | null;
}

/** Results of a profile. Shares are of the time that was not idle. */
export interface ProfileView {
  busyMs: number;
  idleMs: number;
  /**
   * Functions by self time. Functions of Node.js are named after the one that the application called, and by the
   * caller.
   */
  self: HotFunction[];
  /** The call of the application that takes most of the time, callees included; `null` if it makes none. */
  dominantCall: HotFunction | null;
  /** The application's functions by total time, callees included. */
  inclusive: HotFunction[];
  /** Share of time in calls of `node:fs`: synchronous calls that would use the thread pool otherwise. */
  files: number;
  /** Share of time in the console and in loggers, formatting included. */
  printing: number;
  /** The same plus the service's own functions that write output for others, which may do more than that. */
  printingAtMost: number;
  /** Share of time in writes to sockets, without output. */
  writing: number;
  /** Share of time in opening outgoing connections, and in TLS except for its payload. */
  connecting: number;
  /** The longest busy periods. Under full load this is the whole profile. */
  longTasks: LongTask[];
}

const MAX_FUNCTIONS = 10;
const MAX_LONG_TASKS = 5;

/** Analyzes a profile. Source maps are read from the folders of the profiled files. */
export function analyzeProfile({ nodes, samples = [], timeDeltas = [] }: CpuProfile): ProfileView {
  const tree = buildCallTree(nodes);
  const writers = findOutputFunctions([...tree.values()]);
  const names = new FunctionNames();
  const self = new FunctionTimes();
  const inclusive = new FunctionTimes();
  const calls = new CallTimes();
  const tasks: { ms: number; functions: FunctionTimes }[] = [];
  let task: { ms: number; functions: FunctionTimes } | null = null;
  let idleMs = 0;
  const activityMs = { files: 0, printing: 0, printingAtMost: 0, writing: 0, connecting: 0 };
  for (const [index, id] of samples.entries()) {
    // A sample counts for the time until the next one; the last one has no known length.
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1000;
    const node = tree.get(id);
    if (!node || isIdle(node.frame)) {
      idleMs += ms;
      task = null;
      continue;
    }
    if (isProfilerFrame(node.frame)) continue;
    self.add(names.nameSelf(node), ms);
    // What writes responses is no call that a service could do without.
    if (!isWritingResponse(node)) calls.add(node, ms);
    for (const activity of findActivities(node, writers)) activityMs[activity] += ms;
    if (!task) {
      task = { ms: 0, functions: new FunctionTimes() };
      tasks.push(task);
    }
    task.ms += ms;
    // A recursive function counts once.
    for (const name of new Set(
      findApplicationFrames(node).map((frame) => names.nameFrame(frame)),
    )) {
      inclusive.add(name, ms);
      task.functions.add(name, ms);
    }
  }
  const share = (ms: number) => ms / Math.max(1, self.total);
  const dominant = calls.findDominant();
  const longest = tasks.sort((a, b) => b.ms - a.ms).slice(0, MAX_LONG_TASKS);
  return {
    busyMs: self.total,
    idleMs,
    self: self.top(self.total),
    dominantCall: dominant && {
      ...parseKey(names.nameCall(dominant)),
      share: share(dominant.ms),
    },
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

/** Finds the first function that belongs neither to Node.js nor to Millrace, in a list sorted by share. */
export function findTopOutsideNode(functions: HotFunction[]): HotFunction | undefined {
  return functions.find(({ place }) => place !== '' && !place.startsWith('node:'));
}

type Activity = 'files' | 'printing' | 'printingAtMost' | 'writing' | 'connecting';

/** Finds what a frame or one of its callers is doing. */
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

/** Functions of Node.js that open connections and do TLS handshakes. */
const CONNECTING = [
  [/^node:(_tls_|internal\/tls\/)/, /./],
  [/^node:net$/, /onnect/],
  [/^node:(_http_agent|https)$/, /^create/],
] as const;
/** Functions of Node.js for incoming connections. */
const ACCEPTING = /onnectionListener|^onconnection|ServerSocket/;

/** Listeners that run once a connection is open do not count. */
function isConnecting(called: CallNode): boolean {
  const frames = [...walkFrames(called)];
  const outside = frames.findIndex((frame) => !isNodeCode(frame));
  const within = outside < 0 ? frames : frames.slice(0, outside);
  if (within.some(({ functionName }) => ACCEPTING.test(functionName))) return false;
  return within.some(({ url, functionName }) =>
    CONNECTING.some(([file, name]) => file.test(url) && name.test(functionName)),
  );
}

/** The application's frames, innermost first. */
function findApplicationFrames(called: CallNode): CallFrame[] {
  return [...walkFrames(called)].filter(isApplication);
}

/** Name and place of a function, in one string. */
type FunctionKey = string;

function parseKey(key: FunctionKey): Pick<HotFunction, 'name' | 'place'> {
  const [name = '', place = ''] = key.split('\n');
  return { name, place };
}

class FunctionTimes {
  total = 0;
  readonly #ms = new Map<FunctionKey, number>();

  add(name: FunctionKey, ms: number): void {
    this.total += ms;
    this.#ms.set(name, (this.#ms.get(name) ?? 0) + ms);
  }

  /** Returns all functions, largest first. */
  all(ofMs: number): HotFunction[] {
    return [...this.#ms]
      .sort(([, a], [, b]) => b - a)
      .map(([key, ms]) => ({ ...parseKey(key), share: ofMs > 0 ? ms / ofMs : 0 }));
  }

  top(ofMs: number): HotFunction[] {
    return this.all(ofMs).slice(0, MAX_FUNCTIONS);
  }
}

class FunctionNames {
  readonly #resolver = new FrameResolver();

  /**
   * Names a frame. A function of Node.js or V8, such as `inspect` or `stringify`, is named after the one that was
   * called and the application's function that called it.
   */
  nameSelf(node: CallNode): FunctionKey {
    const { frame } = node;
    if (isMillraceCode(frame)) return MILLRACE;
    if (!isNodeCode(frame)) return this.nameFrame(frame);
    const name = frame.functionName || '(anonymous)';
    if (frame.url === '' && isPseudoFunction(name)) return `${name}\n`;
    if (isWritingResponse(node)) return WRITING_RESPONSES;
    const frames = [...walkFrames(node)].filter((it) => !isProfilerFrame(it));
    const outside = frames.findIndex((it) => !isNodeCode(it) && !isMillraceCode(it));
    const called = frames.slice(0, Math.max(0, outside)).findLast(isNodeCode);
    const caller = frames.find(isApplication) ?? frames[outside];
    if (!called || !caller) return frame.url === '' ? `${name}\n` : this.nameFrame(frame);
    return this.#nameCalled(called.functionName, caller);
  }

  /** Names a call: a function of the application by its own place, any other by its caller. */
  nameCall({ called, caller }: TimedCall): FunctionKey {
    if (isApplication(called)) return this.nameFrame(called);
    const of = findPackage(called);
    const name = called.functionName || '(anonymous)';
    return this.#nameCalled(of === null ? name : `${name} of ${of}`, caller);
  }

  #nameCalled(name: string, caller: CallFrame): FunctionKey {
    const { name: callerName, place } = parseKey(this.nameFrame(caller));
    return `${name || '(anonymous)'} called from ${callerName}\n${place}`;
  }

  nameFrame(frame: CallFrame): FunctionKey {
    const { name, place } = this.#resolver.resolve(frame);
    return `${name}\n${place}`;
  }
}

/** The probe, or the native stack under the application. */
const MILLRACE: FunctionKey = '(millrace)\n';

/**
 * System calls that write responses. The application's function that ended the response is not named: with few cores a
 * profile overstates this time, since the profiling thread runs when those calls end.
 */
const WRITING_RESPONSES: FunctionKey = '(writing responses)\n';

/** Whether a response is being written, judged by the innermost call from outside Node.js. */
function isWritingResponse(called: CallNode): boolean {
  for (const frame of walkFrames(called)) {
    if (isApplication(frame) || findPackage(frame) !== null) return false;
    if (sendsResponse(frame)) return true;
  }
  return false;
}

/** Whether a function is built into V8 or part of Node.js. */
function isNodeCode({ url }: CallFrame): boolean {
  return url === '' || url.startsWith('node:');
}

/** Whether a name is one of V8's pseudo functions, such as `(garbage collector)` or `(program)`. */
function isPseudoFunction(name: string): boolean {
  return name.startsWith('(') && name !== '(anonymous)';
}

import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HotFunction } from '../result.js';
import {
  type Called,
  type CallFrame,
  callTree,
  framesOf,
  isApplication,
  isOfProbe,
  isOfStack,
  keyOf,
  type ProfileNode,
  packageOf,
} from './call-tree.js';
import {
  answers,
  findOutputFunctions,
  isConsole,
  type OutputFunctions,
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
  within: HotFunction | null;
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

const MOST = 10;
const MOST_TASKS = 5;

/** Reads a profile. Source maps are read from where the profile's files are. */
export function analyseProfile({ nodes, samples = [], timeDeltas = [] }: CpuProfile): ProfileView {
  const tree = callTree(nodes);
  const writers = findOutputFunctions([...tree.values()]);
  const names = new Names();
  const self = new Shares();
  const inclusive = new Shares();
  const tasks: { ms: number; within: Shares }[] = [];
  let task: { ms: number; within: Shares } | null = null;
  let idleMs = 0;
  const within = { files: 0, printing: 0, printingAtMost: 0, writing: 0, connecting: 0 };
  for (const [index, id] of samples.entries()) {
    // A sample stands for the time to the next one; of the last nothing is known.
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1000;
    const node = tree.get(id);
    if (!node || node.frame.functionName === '(idle)') {
      idleMs += ms;
      task = null;
      continue;
    }
    if (isOfProfiler(node.frame)) continue;
    self.add(names.self(node), ms);
    for (const what of occupations(node, writers)) within[what] += ms;
    if (!task) {
      task = { ms: 0, within: new Shares() };
      tasks.push(task);
    }
    task.ms += ms;
    // A function that calls itself counts once.
    for (const name of new Set(applicationFrames(node).map((frame) => names.of(frame)))) {
      inclusive.add(name, ms);
      task.within.add(name, ms);
    }
  }
  const share = (ms: number) => ms / Math.max(1, self.total);
  const longest = tasks.sort((a, b) => b.ms - a.ms).slice(0, MOST_TASKS);
  return {
    busyMs: self.total,
    idleMs,
    self: self.most(self.total),
    inclusive: inclusive.all(self.total),
    files: share(within.files),
    printing: share(within.printing),
    printingAtMost: share(within.printingAtMost),
    writing: share(within.writing),
    connecting: share(within.connecting),
    longTasks: longest.map(({ ms, within }) => ({ ms, within: within.most(ms)[0] ?? null })),
  };
}

/** Of functions with shares of the time, most first, the first that is neither Node's nor Millrace's. */
export function topOutsideNode(functions: HotFunction[]): HotFunction | undefined {
  return functions.find(({ place }) => place !== '' && !place.startsWith('node:'));
}

/** While a profile is taken the debugger is told of each line that is printed: time that there is not otherwise. */
function isOfProfiler(frame: CallFrame): boolean {
  return frame.functionName === 'consoleCall' && frame.url === '';
}

type Occupation = 'files' | 'printing' | 'printingAtMost' | 'writing' | 'connecting';

/** What is being done in a frame or in one of its callers. */
function occupations(called: Called, { loggers, own }: OutputFunctions): Iterable<Occupation> {
  const found = new Set<Occupation>();
  for (const frame of framesOf(called)) {
    const key = keyOf(frame);
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
const CONNECTS = [
  [/^node:(_tls_|internal\/tls\/)/, /./],
  [/^node:net$/, /onnect/],
  [/^node:(_http_agent|https)$/, /^create/],
] as const;
/** Connections that come, which are opened by others. */
const ACCEPTS = /onnectionListener|^onconnection|ServerSocket/;

/** What listeners do when there is a connection is their own. */
function isConnecting(called: Called): boolean {
  const frames = [...framesOf(called)];
  const outside = frames.findIndex((frame) => !isOfNode(frame));
  const within = outside < 0 ? frames : frames.slice(0, outside);
  if (within.some(({ functionName }) => ACCEPTS.test(functionName))) return false;
  return within.some(({ url, functionName }) =>
    CONNECTS.some(([file, name]) => file.test(url) && name.test(functionName)),
  );
}

/** From the innermost to the outermost. */
function applicationFrames(called: Called): CallFrame[] {
  return [...framesOf(called)].filter(isApplication);
}

/** A function by name and place, in one string: a key. */
type Name = string;

class Shares {
  total = 0;
  readonly #ms = new Map<Name, number>();

  add(name: Name, ms: number): void {
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

  most(ofMs: number): HotFunction[] {
    return this.all(ofMs).slice(0, MOST);
  }
}

class Names {
  readonly #maps = new SourceMaps();
  readonly #names = new Map<CallFrame, Name>();

  /** What is Node's or V8's own, as `inspect` or `stringify`, is told as that which was called of it, and by whom of the application. */
  self(node: Called): Name {
    const { frame } = node;
    if (isOfProbe(frame) || isOfStack(frame)) return MILLRACE;
    if (!isOfNode(frame)) return this.of(frame);
    const name = frame.functionName || '(anonymous)';
    if (frame.url === '' && isStanding(name)) return `${name}\n`;
    if (isOfResponse(node)) return WRITING_RESPONSES;
    const frames = [...framesOf(node)].filter((it) => !isOfProfiler(it));
    const outside = frames.findIndex((it) => !isOfNode(it));
    const called = frames[outside - 1];
    const caller = frames.find(isApplication) ?? frames[outside];
    if (!called || !caller) return frame.url === '' ? `${name}\n` : this.of(frame);
    const [callerName = '', place = ''] = this.of(caller).split('\n');
    return `${called.functionName || '(anonymous)'} called from ${callerName}\n${place}`;
  }

  of(frame: CallFrame): Name {
    const known = this.#names.get(frame);
    if (known) return known;
    const { url, lineNumber, columnNumber } = frame;
    const place = this.#maps.original({
      file: pathOf(url),
      line: lineNumber,
      column: columnNumber,
    });
    const name = `${frame.functionName || '(anonymous)'}\n${shown(place)}`;
    this.#names.set(frame, name);
    return name;
  }
}

/** The probe, or the native stack under the application. */
const MILLRACE: Name = '(millrace)\n';

/**
 * System calls on a response's way to its socket. Who of the application has ended the response is not named: a profile shows far too much
 * time in them where cores are few, as the thread that takes it gets its turn when they end.
 */
const WRITING_RESPONSES: Name = '(writing responses)\n';

/** Whether a response is being written, by what the innermost function outside of Node has called. */
function isOfResponse(called: Called): boolean {
  for (const frame of framesOf(called)) {
    if (isApplication(frame) || packageOf(frame) !== null) return false;
    if (answers(frame)) return true;
  }
  return false;
}

/** Built into V8, or of Node's own code. */
function isOfNode({ url }: CallFrame): boolean {
  return url === '' || url.startsWith('node:');
}

/** `(garbage collector)`, `(program)`. */
function isStanding(name: string): boolean {
  return name.startsWith('(') && name !== '(anonymous)';
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

function shown({ file, line }: Place): string {
  const near = isAbsolute(file) ? relative(process.cwd(), file) : file;
  return `${near.startsWith('..') ? file : near}:${line + 1}`;
}

import {
  type Called,
  type CallFrame,
  framesOf,
  isApplication,
  isOfProbe,
  isOfStack,
  keyOf,
  packageOf,
} from './call-tree.js';

/** Where Node writes a response: from the message to its socket, and back when it is written. */
const WRITES = [
  [/^node:_http_outgoing$/, /^(write_|_send|_writeRaw|_flush|end|connectionCorkNT)/],
  [/^node:net$/, /^(_write|writeAfter)/i],
  [/^node:internal\/(stream_base_commons|streams\/writable)$/, /^(?!Writable)/],
] as const;

/** Whether a frame is on a response's way to its socket. */
export function writesResponse({ url, functionName }: CallFrame): boolean {
  return WRITES.some(([file, name]) => file.test(url) && name.test(functionName));
}

/** Whether a frame is the console's. */
export function isConsole({ url }: CallFrame): boolean {
  return /^node:internal\/console/.test(url);
}

/** Functions by their keys. */
export interface OutputFunctions {
  /** Of packages, as loggers: all of their time is the log's. */
  loggers: Set<string>;
  /** Of the service itself, which do more than that, or do not. */
  own: Set<string>;
}

/** Packages that are loggers by what they say of themselves: what writes later, from a queue of its own, is on no way to the output. */
const LOGGERS = new Set([
  'bole',
  'bunyan',
  'consola',
  'debug',
  'log4js',
  'loglevel',
  'npmlog',
  'pino',
  'roarr',
  'signale',
  'tslog',
  'winston',
]);

/**
 * The functions of a profile that write output for others, with what they format. They are known by the probe's place on the way to standard
 * output and files (`probe/output.cts`), and are
 *
 * - a package's: the outermost of the packages between the service and the output which do not call the service to answer a request,
 *   and all of a well-known logger,
 * - the service's own, if another function of it calls them, and no response is written within. Of the console's callers nothing is known:
 *   what it formats is its own.
 */
export function findOutputFunctions(calls: Called[]): OutputFunctions {
  const frameworks = frameworksOf(calls);
  const found: OutputFunctions = { loggers: new Set(), own: new Set() };
  for (const { frame, parent } of calls) {
    if (isWellKnown(frame)) found.loggers.add(keyOf(frame));
    if (!isOfProbe(frame, 'output.') || !parent) continue;
    const writer = writerAround(parent, frameworks);
    if (writer) found[isApplication(writer) ? 'own' : 'loggers'].add(keyOf(writer));
  }
  for (const called of calls) {
    if (!answers(called.frame)) continue;
    for (const frame of framesOf(called)) {
      found.own.delete(keyOf(frame));
      // Middleware: it has been given the rest of the request to do.
      if (isWellKnown(frame)) found.loggers.delete(keyOf(frame));
    }
  }
  return found;
}

/** A response is under way: by Node, of either version of HTTP, or by Millrace's stack. */
export function answers(frame: CallFrame): boolean {
  const [[file, name]] = WRITES;
  return (
    (file.test(frame.url) && name.test(frame.functionName)) ||
    frame.url.startsWith('node:internal/http2/') ||
    isOfStack(frame)
  );
}

function isWellKnown(frame: CallFrame): boolean {
  return LOGGERS.has(packageOf(frame) ?? '');
}

/** The packages that call the service, and are not called by it. */
function frameworksOf(calls: Called[]): Set<string> {
  const frameworks = new Set<string>();
  for (const { frame, parent } of calls) {
    const outer = [...framesOf(parent)];
    if (!isApplication(frame) || outer.some(isApplication)) continue;
    for (const name of outer.map(packageOf)) {
      if (name !== null) frameworks.add(name);
    }
  }
  return frameworks;
}

function writerAround(within: Called, frameworks: Set<string>): CallFrame | null {
  const isCode = (frame: CallFrame) => isApplication(frame) || packageOf(frame) !== null;
  const frames = [...framesOf(within)];
  const outer = frames.filter(isCode);
  const [first] = outer;
  if (!first || frames.slice(0, frames.indexOf(first)).some(isConsole)) return null;
  if (isApplication(first)) {
    const callers = outer.slice(1).filter(isApplication);
    return callers.some((caller) => keyOf(caller) !== keyOf(first)) ? first : null;
  }
  const isLogger = (frame: CallFrame) => {
    const name = packageOf(frame);
    return name !== null && !frameworks.has(name);
  };
  const end = outer.findIndex((frame) => !isLogger(frame));
  return outer[(end < 0 ? outer.length : end) - 1] ?? null;
}

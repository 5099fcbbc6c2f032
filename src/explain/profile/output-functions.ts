import {
  buildKey,
  type CallFrame,
  type CallNode,
  findPackage,
  isApplication,
  isProbeCode,
  isStackCode,
  walkFrames,
} from './call-tree.js';

/** Where Node writes a response: from the message to its socket, and back when it is written. */
const RESPONSE_WRITES = [
  [/^node:_http_outgoing$/, /^(write_|_send|_writeRaw|_flush|end|connectionCorkNT)/],
  [/^node:net$/, /^(_write|writeAfter)/i],
  [/^node:internal\/(stream_base_commons|streams\/writable)$/, /^(?!Writable)/],
] as const;

/** Whether a frame is on a response's way to its socket. */
export function writesResponse({ url, functionName }: CallFrame): boolean {
  return RESPONSE_WRITES.some(([file, name]) => file.test(url) && name.test(functionName));
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
 * output and files (`src/probe/runtime/synchronous-writes.cts`), and are
 *
 * - a package's: the outermost of the packages between the service and the output which do not call the service to answer a request,
 *   and all of a well-known logger,
 * - the service's own, if another function of it calls them, and no response is written within. Of the console's callers nothing is known:
 *   what it formats is its own.
 */
export function findOutputFunctions(calls: CallNode[]): OutputFunctions {
  const frameworks = findFrameworks(calls);
  const found: OutputFunctions = { loggers: new Set(), own: new Set() };
  for (const { frame, parent } of calls) {
    if (isKnownLogger(frame)) found.loggers.add(buildKey(frame));
    if (!isProbeCode(frame, 'runtime/synchronous-writes.') || !parent) continue;
    const writer = findWriter(parent, frameworks);
    if (writer) found[isApplication(writer) ? 'own' : 'loggers'].add(buildKey(writer));
  }
  for (const called of calls) {
    if (!sendsResponse(called.frame)) continue;
    for (const frame of walkFrames(called)) {
      found.own.delete(buildKey(frame));
      // Middleware: it has been given the rest of the request to do.
      if (isKnownLogger(frame)) found.loggers.delete(buildKey(frame));
    }
  }
  return found;
}

/** A response is under way: by Node, of either version of HTTP, or by Millrace's stack. */
export function sendsResponse(frame: CallFrame): boolean {
  const [[file, name]] = RESPONSE_WRITES;
  return (
    (file.test(frame.url) && name.test(frame.functionName)) ||
    frame.url.startsWith('node:internal/http2/') ||
    isStackCode(frame)
  );
}

function isKnownLogger(frame: CallFrame): boolean {
  return LOGGERS.has(findPackage(frame) ?? '');
}

/** The packages that call the service, and are not called by it. */
function findFrameworks(calls: CallNode[]): Set<string> {
  const frameworks = new Set<string>();
  for (const { frame, parent } of calls) {
    const outer = [...walkFrames(parent)];
    if (!isApplication(frame) || outer.some(isApplication)) continue;
    for (const name of outer.map(findPackage)) {
      if (name !== null) frameworks.add(name);
    }
  }
  return frameworks;
}

function findWriter(within: CallNode, frameworks: Set<string>): CallFrame | null {
  const isCode = (frame: CallFrame) => isApplication(frame) || findPackage(frame) !== null;
  const frames = [...walkFrames(within)];
  const outer = frames.filter(isCode);
  const [first] = outer;
  if (!first || frames.slice(0, frames.indexOf(first)).some(isConsole)) return null;
  if (isApplication(first)) {
    const callers = outer.slice(1).filter(isApplication);
    return callers.some((caller) => buildKey(caller) !== buildKey(first)) ? first : null;
  }
  const isLogger = (frame: CallFrame) => {
    const name = findPackage(frame);
    return name !== null && !frameworks.has(name);
  };
  const end = outer.findIndex((frame) => !isLogger(frame));
  return outer[(end < 0 ? outer.length : end) - 1] ?? null;
}

import { buildKey, type CallFrame, type CallNode, walkFrames } from './call-tree.js';
import { findPackage, isApplication, isProbeCode, isStackCode } from './code-origin.js';

/** Functions of Node.js that write a response, from the message to the socket, and their callbacks. */
const RESPONSE_WRITES = [
  [/^node:_http_outgoing$/, /^(write_|_send|_writeRaw|_flush|end|connectionCorkNT)/],
  [/^node:net$/, /^(_write|writeAfter)/i],
  [/^node:internal\/(stream_base_commons|streams\/writable)$/, /^(?!Writable)/],
] as const;

/** Whether a frame is part of writing a response to its socket. */
export function writesResponse({ url, functionName }: CallFrame): boolean {
  return RESPONSE_WRITES.some(([file, name]) => file.test(url) && name.test(functionName));
}

/** Whether a frame belongs to the console. */
export function isConsole({ url }: CallFrame): boolean {
  return /^node:internal\/console/.test(url);
}

/** Functions that write output, by key. */
export interface OutputFunctions {
  /** Functions of packages such as loggers; all of their time counts as output. */
  loggers: Set<string>;
  /** Functions of the service itself, which may do more than write output. */
  own: Set<string>;
}

/** Well-known loggers. They are listed since a logger with a queue of its own is not on the call path to the output. */
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
 * Finds the functions of a profile that write output for others, formatting included. They are recognized by the
 * probe's frame on the way to standard output and files (`src/probe/runtime/synchronous-writes.cts`):
 * - functions of packages: the outermost package between the service and the output that does not call the service to
 *   answer a request; and all functions of a well-known logger
 * - functions of the service, if another function of the service calls them and they write no response. Callers of the
 *   console are not included: it formats by itself.
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
      // Middleware: it runs the rest of the request.
      if (isKnownLogger(frame)) found.loggers.delete(buildKey(frame));
    }
  }
  return found;
}

/** Whether a frame sends a response: Node.js with HTTP/1 or HTTP/2, or Millrace's stack. */
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

/** Finds the packages that call the service and are not called by it. */
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

import type { Connection } from '../state/connection.js';
import { native } from './native.js';

/** The folder of the stack's code, as stack traces show it. */
const OWN_FOLDER = /(?:at |\()([^()]*[\\/]http[\\/])[^()]*\)?$/.exec(
  frames(new Error())[0] ?? '',
)?.[1];

/** Codes of errors of the addon; those that Node defines have others, and an application expects them. */
const ADDON_CODES = new Set<unknown>(['GenericFailure', 'InvalidArg']);

/** The functions that catch what is reported here. */
const CATCHER = /\b(?:onBatch|receive|guarded|callAtClose)\d* \(/;

/** A frame of a function of the language, such as `Array.map`. */
const LANGUAGE = / \((?:<anonymous>|native)\)$/;

/** A tick that is not the stack's, whose own are guarded by themselves: Node's state of contexts is left to its own handler. */
const TICK = /\bprocessTicksAndRejections \(/;

type UncaughtHandler = (error: unknown, ...rest: unknown[]) => boolean;
/** What Node calls with an uncaught exception: 'uncaughtException' and all that is around it. */
const uncaught = process as unknown as { _fatalException: UncaughtHandler };

/**
 * Reports what was thrown in a callback of the reactor. What an application has thrown, or an error that Node defines, goes to
 * 'uncaughtException', as from any callback of Node's. An error of the stack's own code ends its connection alone, is counted in
 * `server.stats()`, and is a warning of the process.
 */
export function reportException(error: unknown, connection: Connection | null): void {
  const { _fatalException } = uncaught;
  // By now Node knows the place of the error, which it prints: whoever reads the trace before that takes it away.
  const handler: UncaughtHandler = (...args) => {
    if (!isInternal(error)) return _fatalException.apply(process, args);
    endConnection(error, connection);
    return true;
  };
  uncaught._fatalException = handler;
  try {
    native.stackFatal(error);
  } finally {
    if (uncaught._fatalException === handler) uncaught._fatalException = _fatalException;
  }
}

/** Ends the connection that an error of the stack concerns, and reports the error. */
function endConnection(error: Error, connection: Connection | null): void {
  process.emitWarning('millrace: an error of the HTTP stack has ended a connection', {
    code: 'MILLRACE_INTERNAL_ERROR',
    detail: error.stack as string,
  });
  if (connection === null) return;
  connection.nativeServer.stats.internalErrors++;
  try {
    connection.socket.destroy();
  } catch {
    if (connection.id >= 0) connection.close(true);
    connection.closeBelow();
  }
}

/**
 * Whether the stack's own code, or code of Node's that it calls, has thrown an error that nobody defined, with no code of an
 * application between it and the function that has caught it. Where the trace does not show that, it is the application's.
 */
function isInternal(error: unknown): error is Error {
  if (!(error instanceof Error) || OWN_FOLDER === undefined) return false;
  if ('code' in error && !ADDON_CODES.has(error.code)) return false;
  const lines = frames(error);
  const end = lines.findIndex((line) => isOwn(line) && CATCHER.test(line));
  if (end < 0) return false;
  const above = lines.slice(0, end + 1);
  const thrower = above.find((line) => !LANGUAGE.test(line)) ?? '';
  // Its listener is a function of the language, or was bound.
  if (/\bemit \(node:events/.test(thrower)) return false;
  return above.every((line) => (isOwn(line) || isNeutral(line)) && !TICK.test(line));
}

/** The lines of a trace that name a place. */
function frames(error: Error): string[] {
  return String(error.stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
}

function isOwn(line: string): boolean {
  return line.includes(OWN_FOLDER as string);
}

/** Whether a line is of Node's code or of a function of the language. */
function isNeutral(line: string): boolean {
  return /[ (]node:/.test(line) || LANGUAGE.test(line);
}

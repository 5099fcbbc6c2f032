import type { StackFrame } from '../protocol.cjs';

// Stored before the application can replace it.
const { captureStackTrace } = Error;

/** A stack that V8 has captured; it becomes text, or a list of frames, when it is first read. */
export interface CapturedStack {
  readonly stack?: unknown;
}

/**
 * Captures the stack of a function's caller, as deep as told, whatever limit the application has set. This costs 2 to 4 µs;
 * reading costs more.
 */
export function captureStack(depth: number, calledFrom: (...args: never[]) => void): CapturedStack {
  const captured: CapturedStack = {};
  const limit: unknown = Error.stackTraceLimit;
  setLimit(depth);
  captureStackTrace(captured, calledFrom);
  setLimit(limit);
  return captured;
}

function setLimit(limit: unknown): void {
  if (limit === undefined) Reflect.deleteProperty(Error, 'stackTraceLimit');
  else Reflect.set(Error, 'stackTraceLimit', limit);
}

/** A frame, and what tells its function from others. */
export interface ReadFrame {
  frame: StackFrame;
  functionId: string;
}

type Formatter = (error: unknown, frames: NodeJS.CallSite[]) => unknown;

/**
 * Reads a captured stack, innermost frame first. The application's own formatter (`Error.prepareStackTrace`) is not
 * called, and applies again afterwards. Nothing of the application runs meanwhile.
 */
export function readStack(captured: CapturedStack): ReadFrame[] {
  const own = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const format: Formatter = (_, frames) => frames.map(readFrame);
  try {
    const property = { value: format, configurable: true, writable: true, enumerable: false };
    Object.defineProperty(Error, 'prepareStackTrace', property);
    return Array.isArray(captured.stack) ? captured.stack : [];
  } catch {
    // Intrinsic objects are frozen.
    return [];
  } finally {
    restore(own);
  }
}

function restore(property: PropertyDescriptor | undefined): void {
  try {
    if (property) Object.defineProperty(Error, 'prepareStackTrace', property);
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
  } catch {
    // It could not be replaced either.
  }
}

function readFrame(site: NodeJS.CallSite): ReadFrame {
  const [name, file] = [site.getFunctionName(), site.getFileName() ?? null];
  const start = [site.getEnclosingLineNumber(), site.getEnclosingColumnNumber()];
  return {
    frame: { name, file, line: site.getLineNumber(), column: site.getColumnNumber() },
    functionId: [name, file, ...start].join(' '),
  };
}

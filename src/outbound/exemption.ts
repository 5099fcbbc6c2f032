/** The `opaque` of undici requests that have limits of their own. */
export const EXEMPT = Symbol('millrace.exempt');

let isRunningExempt = false;

/** Calls `connect`; connections that it begins are exempt from deadlines, as they have limits of their own. */
export function runExempt<Result>(connect: () => Result): Result {
  const before = isRunningExempt;
  isRunningExempt = true;
  try {
    return connect();
  } finally {
    isRunningExempt = before;
  }
}

export function isExempt(): boolean {
  return isRunningExempt;
}

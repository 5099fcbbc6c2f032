/** What requests of undici have as `opaque` when they have limits of their own. */
export const EXEMPT = Symbol('millrace.exempt');

let isWithin = false;

/** Calls `connect`; the connections that it begins have limits of their own. */
export function exempted<Result>(connect: () => Result): Result {
  const before = isWithin;
  isWithin = true;
  try {
    return connect();
  } finally {
    isWithin = before;
  }
}

export function isExempt(): boolean {
  return isWithin;
}

// Taken now: clocks that tests put into `process` are not of concern. Not `performance`, which Node loads at its first use.
const { hrtime } = process;

/** The time since some moment in the past, in milliseconds. */
export function now(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

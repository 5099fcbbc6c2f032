/** Waits for a value, until the signal is aborted: then it rejects with the signal's reason. */
export async function untilAborted<Value>(
  value: Promise<Value>,
  signal: AbortSignal | null | undefined,
): Promise<Value> {
  if (!signal) return value;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([aborted, value]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

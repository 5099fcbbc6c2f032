import type { Session } from 'node:inspector';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timers } from './clock.cjs';

const INTERVAL_US = 1000;

/** Takes a CPU profile at 1 kHz. */
export async function takeProfile(ms: number): Promise<unknown> {
  // Imported on demand: some builds of Node.js lack it.
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    await post(session, 'Profiler.enable');
    await post(session, 'Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await post(session, 'Profiler.start');
    await new Promise<void>((resolve) => {
      timers.setTimeout(resolve, ms).unref();
    });
    const { profile } = (await post(session, 'Profiler.stop')) as { profile: unknown };
    return profile;
  } finally {
    session.disconnect();
  }
}

function post(session: Session, method: string, parameters = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

let collect: (() => void) | null = null;

/** Runs a full garbage collection. Returns the bytes of the heap that are still in use. */
export function collectGarbage(): number {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collect();
  return getHeapStatistics().used_heap_size;
}

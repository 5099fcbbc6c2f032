import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pause } from './clock.cjs';
import { post, withInspector } from './inspector.cjs';

const INTERVAL_US = 1000;

/** Takes a CPU profile at 1 kHz. */
export function takeProfile(ms: number): Promise<unknown> {
  return withInspector(async (session) => {
    await post(session, 'Profiler.enable');
    await post(session, 'Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await post(session, 'Profiler.start');
    await pause(ms);
    const { profile } = (await post(session, 'Profiler.stop')) as { profile: unknown };
    return profile;
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

/** Lets V8 compile each function by itself from now on: what an inlined one allocates would count for its caller. */
export function disableInlining(): void {
  setFlagsFromString('--no-turbo-inlining');
  setFlagsFromString('--no-maglev-inlining');
}

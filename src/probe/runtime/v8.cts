import type { Profiler } from 'node:inspector';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pause } from './clock.cjs';
import { post, withProfiler } from './inspector.cjs';

const INTERVAL_US = 1000;

/** Takes a CPU profile at 1 kHz. */
export function takeProfile(ms: number): Promise<Profiler.Profile> {
  return withProfiler(async (session) => {
    await post(session, 'Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await post(session, 'Profiler.start');
    await pause(ms);
    const { profile } = (await post(session, 'Profiler.stop')) as Profiler.StopReturnType;
    return profile;
  });
}

/** Whether V8's flags are frozen (`--freeze-flags-after-init`): setting one would end the process. */
function areFlagsFrozen(): boolean {
  const flags = [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ');
  return /--freeze[-_]flags[-_]after[-_]init\b/.test(flags);
}

let collect: (() => void) | null = null;

/** Runs a full garbage collection. Returns the bytes of the heap that are still in use. */
export function collectGarbage(): number {
  if (!collect) {
    if (areFlagsFrozen()) throw new Error('V8 has no garbage collection on demand');
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collect();
  return getHeapStatistics().used_heap_size;
}

let isInlining = true;

/**
 * Lets V8 inline functions or not, in code that it compiles from now on, and has all code compiled again: what an inlined
 * function runs and allocates would count for its caller.
 */
export async function setInlining(on: boolean): Promise<void> {
  if (on === isInlining || areFlagsFrozen()) return;
  isInlining = on;
  const prefix = on ? '--' : '--no-';
  setFlagsFromString(`${prefix}turbo-inlining`);
  setFlagsFromString(`${prefix}maglev-inlining`);
  // Coverage that is counted for a moment would end that of the process.
  if (process.env.NODE_V8_COVERAGE) return;
  await withProfiler(async (session) => {
    // Counting calls requires that V8 drops all optimized code; nothing is counted.
    await post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await post(session, 'Profiler.stopPreciseCoverage');
  });
}

import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import { DEFAULT_POOL_SIZE } from '../../hypotheses/machine/pool-size.js';
import { NEAR_BOUND_SHARE } from './corrections.js';
import { findHotFunction, isHotFunctionRemedy, predictWithoutFunction } from './hot-function.js';
import { predictAlternative } from './remedy-prediction.js';

/** Minimum gain by idle cores, and minimum time per request in ms, at which other threads are worth their messages. */
const [MIN_CORES_GAIN, MIN_THREAD_MS] = [1.4, 0.5];
/** Range of the part of the cores' time that other threads use. */
const USED_CORES: Interval = { low: 0.7, high: 1.05 };

/**
 * Predicts throughput where the same work is done in other threads: the loop has less to do, and the cores that the
 * service uses or leaves idle bound what all threads serve, as do the requests in flight, each of which takes as long as
 * alone. `null` where less work is not the remedy, the work is short, or neither cores nor requests are left for more.
 */
export function predictOtherThreads(chosen: Hypothesis, found: Findings): Interval | null {
  const { machine, throughput, loop, base, model, maxConcurrency, unloadedLatencyMs } =
    found.metrics;
  const hot = isHotFunctionRemedy(chosen, found) ? findHotFunction(chosen, found) : null;
  if (!hot || !machine || machine.cpu.server <= 0) return null;
  if (!loop || hot.share * loop.busyMs < MIN_THREAD_MS) return null;
  const { server, idle } = machine.cpu;
  const byCores = (server + idle) / server;
  const byLoad =
    model === 'closed' && unloadedLatencyMs !== null
      ? (1000 * maxConcurrency) / (unloadedLatencyMs + base.load.plan.thinkTimeMs)
      : Number.POSITIVE_INFINITY;
  if (Math.min(byCores, byLoad / throughput) < MIN_CORES_GAIN) return null;
  const byLoop = predictWithoutFunction(hot, found);
  // libuv's pool runs the asynchronous forms of calls.
  const byPool = USED_CORES.low * Math.min(byCores, DEFAULT_POOL_SIZE) * throughput;
  const low = Math.min(byPool, byLoop.low);
  const { high } = predictAlternative(
    { low, high: Math.min(USED_CORES.high * byCores * throughput, byLoop.high) },
    chosen,
    found,
  );
  return {
    // The corrections of the upper end do not apply to the lower one.
    low: Math.min(low, high, NEAR_BOUND_SHARE * byLoad),
    high: Math.min(high, byLoad),
  };
}

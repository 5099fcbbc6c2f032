import { EXPLAIN_DEFAULTS } from '../defaults.js';
import type { Retained } from '../hypotheses/history.js';
import {
  computeForeignCores,
  deriveMetrics,
  findServingProcesses,
  listOtherThreads,
  MIN_FOREIGN_CORES,
  sustainsRate,
} from '../metrics/derive.js';
import type { Metrics, Observations } from '../metrics/types.js';
import type { Observation, OutsideView } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { RequestSample } from '../target/sample-request.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { measureHeapBytes } from './heap/heap-growth.js';
import type { InvestigationOptions } from './options.js';

/** Measurements before any change. */
export interface Baseline {
  metrics: Metrics;
  retained: Retained | null;
}

const IDLE_MS = 600;
/** Minimum share of a core that the loop uses without load if it is measured again. */
const MIN_IDLE_SHARE = 0.05;
/** Responses that the baseline should include; a slow server may take its maximum length for fewer. */
const WANTED_RESPONSES = 60;

/** Measures the server without load, with one request at a time, and with the configured load. */
export async function measureBaseline(
  subject: ServerUnderTest,
  { sample, unknownPath, durationMs, identityBytes }: RequestSample,
  { setting, untilMs, warmupMs, onStep }: InvestigationOptions,
): Promise<Baseline> {
  const { canAddLoad } = setting();
  /** Limits a length to a range and to a share of the time left. */
  const boundedMs = (targetMs: number, minMs: number, maxMs: number, part: number) =>
    Math.max(500, Math.min(maxMs, Math.max(minMs, targetMs), part * (untilMs - performance.now())));

  onStep('observing the server without load');
  const idleView = await observeIdle(subject);
  const unloadedMs = durationMs ?? 50;
  let single: Observation | null = null;
  // One request after another may exceed the configured rate.
  if (canAddLoad || subject.options.rate === undefined) {
    onStep('measuring one request at a time');
    const measureMs = boundedMs(unloadedMs * 8, 1200, 6000, 0.15);
    single = await subject.runBlock({ settleMs: 300, measureMs }, { oneAtATime: true });
  }
  const estimateMs = Math.max(unloadedMs / 2, single?.load.latencyMs.p50 ?? unloadedMs);

  onStep('warming up');
  // A requested warm-up may take up to half of the time.
  const requestedMs = Math.min(warmupMs, (untilMs - performance.now()) / 2);
  const [shortestMs, longestMs] = EXPLAIN_DEFAULTS.warmupMs;
  const neededMs = boundedMs(estimateMs * 5, shortestMs, longestMs, 0.1);
  const warmupLengthMs = Math.max(requestedMs, neededMs);
  const warm = await subject.runBlock({ settleMs: 0, measureMs: warmupLengthMs });
  // Requests that queue take longer than a single one: by Little's law.
  const loadedMs = Math.min(
    10_000,
    (warm.load.meanInFlight * 1000) / Math.max(0.1, warm.throughput),
  );
  const bytesBefore = await measureHeapBytes(subject);
  const responsesBefore = subject.responseCount;
  onStep('measuring the baseline');
  // An open load is in balance when requests end as fast as they begin, so not before the first responses.
  const settleMs = Math.max(
    boundedMs(estimateMs * 3, 300, 3000, 0.06),
    boundedMs(Math.max(estimateMs, loadedMs) * 1.3, 300, 8000, 0.15),
  );
  const enoughMs = (WANTED_RESPONSES * 1000) / Math.max(0.1, warm.throughput);
  const measureMs = boundedMs(Math.max(estimateMs * 15, enoughMs), 3000, 8000, 0.2);
  const length = { settleMs, measureMs };
  const configured = await measureConfiguredLoad(subject, length);
  const isOverload =
    configured.load.plan.model === 'open' && !sustainsRate(configured) && canAddLoad;
  const base = isOverload
    ? await measureClosedLoad(subject, length, configured, unloadedMs, untilMs)
    : configured;
  const bytesAfter = bytesBefore === null ? null : await measureHeapBytes(subject);
  const retained =
    bytesBefore !== null && bytesAfter !== null
      ? {
          requests: subject.responseCount - responsesBefore,
          beforeBytes: bytesBefore,
          afterBytes: bytesAfter,
        }
      : null;
  // A server that has just started may still be busy with its start: the quieter measurement counts.
  const idleBefore = computeIdleLoopShare(idleView, base);
  const foreign = base.outside ? computeForeignCores(base.outside.cpu) : 0;
  const isBusy = (idleBefore ?? 0) > MIN_IDLE_SHARE;
  // Programs that work for the requests are idle again after them.
  const viewAfter = isBusy || foreign > MIN_FOREIGN_CORES ? await observeIdle(subject) : null;
  const idleAfter = isBusy ? computeIdleLoopShare(viewAfter, base) : null;
  const idleOthers =
    idleView &&
    Math.max(...[idleView, viewAfter].map((view) => (view ? computeForeignCores(view.cpu) : 0)));
  const idleShare = idleAfter === null ? idleBefore : Math.min(idleBefore ?? 1, idleAfter);
  const rate = configured.load.plan.rate;
  const overload = isOverload && rate !== null ? { rate, answered: configured.throughput } : null;
  const observations: Observations = {
    base,
    single,
    sample,
    unknownPath,
    idleShare,
    idleThreadShare: computeIdleThreadShare(idleView, base),
    idleOthers,
    identityBytes,
    overload,
  };
  return { metrics: deriveMetrics(observations), retained };
}

/** Observes the server without load; `null` if it cannot be seen. */
async function observeIdle(subject: ServerUnderTest): Promise<OutsideView | null> {
  const { fromMs, toMs } = await subject.waitIdle(IDLE_MS);
  return subject.observedBetween(fromMs, toMs);
}

/** Share of a core that the busiest serving event loop uses without load. */
function computeIdleLoopShare(rest: OutsideView | null, { inside }: Observation): number | null {
  return (
    rest &&
    Math.max(0, ...findServingProcesses({ outside: rest, inside }).map(({ main }) => main.run))
  );
}

/** Share of a core that the busiest thread other than the loops of the serving processes uses without load. */
function computeIdleThreadShare(rest: OutsideView | null, { inside }: Observation): number | null {
  return rest && Math.max(0, ...listOtherThreads({ outside: rest, inside }).map(({ run }) => run));
}

/**
 * Measures the configured load. If the rate is nearly sustained, measures it a second time: a short stall of the
 * machine looks the same.
 */
async function measureConfiguredLoad(
  subject: ServerUnderTest,
  length: BlockLength,
): Promise<Observation> {
  const asked = await subject.runBlock(length);
  const { rate } = asked.load.plan;
  if (rate === null || sustainsRate(asked) || asked.throughput < NEARLY_SUSTAINED * rate)
    return asked;
  return subject.runBlock(length);
}

/** Share of the rate below which the server, not a stall of the machine, is the reason. */
const NEARLY_SUSTAINED = 0.7;

/**
 * Measures a closed load in place of a rate that the server does not sustain: as many connections as requests were in
 * flight.
 */
async function measureClosedLoad(
  subject: ServerUnderTest,
  length: BlockLength,
  { load }: Observation,
  unloadedMs: number,
  untilMs: number,
): Promise<Observation> {
  const deadlineMs = performance.now() + MAX_DRAIN_SHARE * (untilMs - performance.now());
  const measureMs = Math.max(500, 4 * unloadedMs);
  let typicalMs: number | null;
  // A queue outlives the clients that filled it. Once it has drained, a single request is answered as fast as before.
  do {
    const { load } = await subject.runBlock({ settleMs: 0, measureMs }, { oneAtATime: true });
    typicalMs = load.latencyMs.p50;
  } while (
    (typicalMs === null || typicalMs > 2 * unloadedMs + 5) &&
    performance.now() < deadlineMs
  );
  const connections = Math.round(load.meanInFlight);
  subject.useClosedLoad(Math.min(MAX_CONNECTIONS, Math.max(MIN_CONNECTIONS, connections)));
  return subject.runBlock(length);
}

/** Share of the time left that draining the queue may take. */
const MAX_DRAIN_SHARE = 0.4;

/** Range of connections for the closed load: enough to saturate most services, not too many for most. */
const [MIN_CONNECTIONS, MAX_CONNECTIONS] = [16, 256];

import type { Retained } from '../hypotheses/machine/memory.js';
import type { InvestigationOptions } from '../investigation-types.js';
import { deriveMetrics, findServingProcesses, sustainsRate } from '../metrics/derive.js';
import type { Metrics, Observations } from '../metrics/types.js';
import { measureHeapBytes } from '../observe/probe/heap-growth.js';
import type { Observation, OutsideView } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { RequestSample } from '../target/sample-request.js';
import type { ServerUnderTest } from '../target/server-under-test.js';

/** What was seen before anything was changed. */
export interface Baseline {
  metrics: Metrics;
  retained: Retained | null;
}

const IDLE_MS = 600;

/** Looks at the server without load, with one request at a time, and with the load as asked for. */
export async function measureBaseline(
  subject: ServerUnderTest,
  { sample, unknownPath, durationMs, identityBytes }: RequestSample,
  { setting, untilMs, warmupMs, onStep }: InvestigationOptions,
): Promise<Baseline> {
  const { canAddLoad } = setting();
  /** A length between two bounds, and at most a part of the time that is left. */
  const boundedMs = (warmupTargetMs: number, minMs: number, maxMs: number, part: number) =>
    Math.max(
      500,
      Math.min(maxMs, Math.max(minMs, warmupTargetMs), part * (untilMs - performance.now())),
    );

  onStep('looking at the server without load');
  const idleView = await observeIdle(subject);
  const unloadedMs = durationMs ?? 50;
  let single: Observation | null = null;
  // One request after the other may be more than the rate that was asked for.
  if (canAddLoad || subject.options.rate === undefined) {
    onStep('one request at a time');
    const measureMs = boundedMs(unloadedMs * 8, 1200, 6000, 0.15);
    single = await subject.runBlock({ settleMs: 300, measureMs }, { oneAtATime: true });
  }
  const estimateMs = Math.max(unloadedMs / 2, single?.load.latencyMs.p50 ?? unloadedMs);

  onStep('warming up with the load as asked for');
  // A warm-up that was asked for may take half of the time.
  const wantedMs = Math.min(warmupMs, (untilMs - performance.now()) / 2);
  const warmupLengthMs = Math.max(wantedMs, boundedMs(estimateMs * 5, 1500, 5000, 0.1));
  await subject.runBlock({ settleMs: 0, measureMs: warmupLengthMs });
  const bytesBefore = await measureHeapBytes(subject);
  const responsesBefore = subject.responseCount;
  onStep('measuring with the load as asked for');
  // An open load is in balance when as many have ended as began: not before the first answers.
  const settleMs = Math.max(
    boundedMs(estimateMs * 3, 300, 3000, 0.06),
    boundedMs(estimateMs * 1.3, 300, 8000, 0.15),
  );
  const measureMs = boundedMs(estimateMs * 15, 3000, 8000, 0.2);
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
  // A server that has just started may be busy with that: the quieter look counts.
  const idleBefore = computeIdleLoopShare(idleView, base);
  const idleAfter =
    idleBefore !== null && idleBefore > 0.05
      ? computeIdleLoopShare(await observeIdle(subject), base)
      : null;
  const idleShare = idleAfter === null ? idleBefore : Math.min(idleBefore ?? 1, idleAfter);
  const rate = configured.load.plan.rate;
  const overload = isOverload && rate !== null ? { rate, answered: configured.throughput } : null;
  const observations: Observations = {
    base,
    single,
    sample,
    unknownPath,
    idleShare,
    identityBytes,
    overload,
  };
  return { metrics: deriveMetrics(observations), retained };
}

/** The server without load; `null` where it is not seen. */
async function observeIdle(subject: ServerUnderTest): Promise<OutsideView | null> {
  const { fromMs, toMs } = await subject.waitIdle(IDLE_MS);
  return subject.observedBetween(fromMs, toMs);
}

/** Share of a core that the busiest of the loops that serve the load uses without it. */
function computeIdleLoopShare(rest: OutsideView | null, { inside }: Observation): number | null {
  return (
    rest &&
    Math.max(0, ...findServingProcesses({ outside: rest, inside }).map(({ main }) => main.run))
  );
}

/** The load as asked for; once more where a rate is nearly borne, as a machine that stands still for a moment looks alike. */
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

/** A queue that grows by more than the rest of a rate is none of the machine's. */
const NEARLY_SUSTAINED = 0.7;

/** In place of a rate that the server does not bear: as many connections as were in flight. */
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
  // A queue outlives the clients that filled it; when it is over, one request alone is answered as before.
  do {
    const { load } = await subject.runBlock({ settleMs: 0, measureMs }, { oneAtATime: true });
    typicalMs = load.latencyMs.p50;
  } while (
    (typicalMs === null || typicalMs > 2 * unloadedMs + 5) &&
    performance.now() < deadlineMs
  );
  const connections = Math.round(load.meanInFlight);
  subject.useClosedLoad(Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, connections)));
  return subject.runBlock(length);
}

/** Part of the time that is left which the end of such a queue may take. */
const MAX_DRAIN_SHARE = 0.4;

/** Of a load that becomes closed: enough to saturate most services, and not more than most bear. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 256];

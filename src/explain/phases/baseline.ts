import type { Retained } from '../hypotheses/machine/memory.js';
import type { InvestigationOptions } from '../investigation-types.js';
import { deriveMetrics, findServingProcesses, sustainsRate } from '../metrics/derive.js';
import type { Metrics, Observations } from '../metrics/types.js';
import { heldBytes } from '../observe/probe/heap-growth.js';
import type { Observation, OutsideView } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { SampleRequest } from '../target/sample-request.js';
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
  { sample, unknownPath, tookMs, identityBytes }: SampleRequest,
  { setting, untilMs, warmupMs, onStep }: InvestigationOptions,
): Promise<Baseline> {
  const { canAddLoad } = setting();
  /** A length between two bounds, and at most a part of the time that is left. */
  const within = (wantedMs: number, leastMs: number, mostMs: number, part: number) =>
    Math.max(
      500,
      Math.min(mostMs, Math.max(leastMs, wantedMs), part * (untilMs - performance.now())),
    );

  onStep('looking at the server without load');
  const restBefore = await atRest(subject);
  const aloneMs = tookMs ?? 50;
  let single: Observation | null = null;
  // One request after the other may be more than the rate that was asked for.
  if (canAddLoad || subject.options.rate === undefined) {
    onStep('one request at a time');
    const measureMs = within(aloneMs * 8, 1200, 6000, 0.15);
    single = await subject.block({ settleMs: 300, measureMs }, { oneAtATime: true });
  }
  const estimateMs = Math.max(aloneMs / 2, single?.load.latencyMs.p50 ?? aloneMs);

  onStep('warming up with the load as asked for');
  // A warm-up that was asked for may take half of the time.
  const wantedMs = Math.min(warmupMs, (untilMs - performance.now()) / 2);
  const warmMs = Math.max(wantedMs, within(estimateMs * 5, 1500, 5000, 0.1));
  await subject.block({ settleMs: 0, measureMs: warmMs });
  const before = await heldBytes(subject);
  const answered = subject.answered;
  onStep('measuring with the load as asked for');
  // An open load is in balance when as many have ended as began: not before the first answers.
  const settleMs = Math.max(
    within(estimateMs * 3, 300, 3000, 0.06),
    within(estimateMs * 1.3, 300, 8000, 0.15),
  );
  const measureMs = within(estimateMs * 15, 3000, 8000, 0.2);
  const length = { settleMs, measureMs };
  const asked = await baseline(subject, length);
  const isOverload = asked.load.plan.model === 'open' && !sustainsRate(asked) && canAddLoad;
  const base = isOverload ? await closedInstead(subject, length, asked, aloneMs, untilMs) : asked;
  const after = before === null ? null : await heldBytes(subject);
  const retained =
    before !== null && after !== null
      ? { requests: subject.answered - answered, beforeBytes: before, afterBytes: after }
      : null;
  // A server that has just started may be busy with that: the quieter look counts.
  const idleBefore = loopAtRest(restBefore, base);
  const idleAfter =
    idleBefore !== null && idleBefore > 0.05 ? loopAtRest(await atRest(subject), base) : null;
  const idleShare = idleAfter === null ? idleBefore : Math.min(idleBefore ?? 1, idleAfter);
  const rate = asked.load.plan.rate;
  const overload = isOverload && rate !== null ? { rate, answered: asked.throughput } : null;
  const seen: Observations = {
    base,
    single,
    sample,
    unknownPath,
    idleShare,
    identityBytes,
    overload,
  };
  return { metrics: deriveMetrics(seen), retained };
}

/** The server without load; `null` where it is not seen. */
async function atRest(subject: ServerUnderTest): Promise<OutsideView | null> {
  const { fromMs, toMs } = await subject.rest(IDLE_MS);
  return subject.outsideBetween(fromMs, toMs);
}

/** Share of a core that the busiest of the loops that serve the load uses without it. */
function loopAtRest(rest: OutsideView | null, { inside }: Observation): number | null {
  return (
    rest &&
    Math.max(0, ...findServingProcesses({ outside: rest, inside }).map(({ main }) => main.run))
  );
}

/** The load as asked for; once more where a rate is nearly borne, as a machine that stands still for a moment looks alike. */
async function baseline(subject: ServerUnderTest, length: BlockLength): Promise<Observation> {
  const asked = await subject.block(length);
  const { rate } = asked.load.plan;
  if (rate === null || sustainsRate(asked) || asked.throughput < NEARLY * rate) return asked;
  return subject.block(length);
}

/** A queue that grows by more than the rest of a rate is none of the machine's. */
const NEARLY = 0.7;

/** In place of a rate that the server does not bear: as many connections as were in flight. */
async function closedInstead(
  subject: ServerUnderTest,
  length: BlockLength,
  { load }: Observation,
  aloneMs: number,
  untilMs: number,
): Promise<Observation> {
  const latestMs = performance.now() + QUEUED_PART * (untilMs - performance.now());
  const measureMs = Math.max(500, 4 * aloneMs);
  let typicalMs: number | null;
  // A queue outlives the clients that filled it; when it is over, one request alone is answered as before.
  do {
    const { load } = await subject.block({ settleMs: 0, measureMs }, { oneAtATime: true });
    typicalMs = load.latencyMs.p50;
  } while ((typicalMs === null || typicalMs > 2 * aloneMs + 5) && performance.now() < latestMs);
  const connections = Math.round(load.meanInFlight);
  subject.saturate(Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, connections)));
  return subject.block(length);
}

/** Part of the time that is left which the end of such a queue may take. */
const QUEUED_PART = 0.4;

/** Of a load that becomes closed: enough to saturate most services, and not more than most bear. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 256];

import { bearsRate, type Facts, factsOf, type Seen } from './facts.js';
import { heldBytes } from './growth.js';
import type { InvestigationOptions } from './investigation.js';
import type { Observation } from './observation.js';
import type { Sampled } from './sample.js';
import type { BlockLength, Subject } from './subject.js';
import type { Retained } from './suspects/memory.js';

/** What was seen before anything was changed. */
export interface Looked {
  facts: Facts;
  retained: Retained | null;
}

const IDLE_MS = 600;

/** Looks at the server without load, with one request at a time, and with the load as asked for. */
export async function look(
  subject: Subject,
  { sample, unknownPath, tookMs, identityBytes }: Sampled,
  { setting, untilMs, onStep }: InvestigationOptions,
): Promise<Looked> {
  const { moreLoad } = setting();
  /** A length between two bounds, and at most a part of the time that is left. */
  const within = (wantedMs: number, leastMs: number, mostMs: number, part: number) =>
    Math.max(
      500,
      Math.min(mostMs, Math.max(leastMs, wantedMs), part * (untilMs - performance.now())),
    );

  onStep('looking at the server without load');
  const idleBefore = await idleShareOf(subject);
  const aloneMs = tookMs ?? 50;
  let single: Observation | null = null;
  // One request after the other may be more than the rate that was asked for.
  if (moreLoad || subject.options.rate === undefined) {
    onStep('one request at a time');
    const measureMs = within(aloneMs * 8, 1200, 6000, 0.15);
    single = await subject.block({ settleMs: 300, measureMs }, { alone: true });
  }
  const estimateMs = Math.max(aloneMs / 2, single?.load.latencyMs.p50 ?? aloneMs);

  onStep('warming up with the load as asked for');
  await subject.block({ settleMs: 0, measureMs: within(estimateMs * 5, 1500, 5000, 0.1) });
  const before = await heldBytes(subject);
  const answered = subject.answered;
  onStep('measuring with the load as asked for');
  // An open load is in balance when as many have ended as began: not before the first answers.
  const settleMs = Math.max(
    within(estimateMs * 3, 300, 3000, 0.06),
    within(estimateMs * 1.3, 300, 8000, 0.15),
  );
  const measureMs = within(estimateMs * 15, 3000, 8000, 0.2);
  const base = await baseline(subject, { settleMs, measureMs }, moreLoad);
  const after = before === null ? null : await heldBytes(subject);
  const retained =
    before !== null && after !== null
      ? { requests: subject.answered - answered, beforeBytes: before, afterBytes: after }
      : null;
  // A server that has just started may be busy with that: the quieter look counts.
  const idleAfter = idleBefore !== null && idleBefore > 0.05 ? await idleShareOf(subject) : null;
  const idleShare = idleAfter === null ? idleBefore : Math.min(idleBefore ?? 1, idleAfter);
  const seen: Seen = { base, single, sample, unknownPath, idleShare, identityBytes };
  return { facts: factsOf(seen), retained };
}

/** Share of a core that the busiest loop uses without load; `null` where it is not seen. */
async function idleShareOf(subject: Subject): Promise<number | null> {
  const { fromMs, toMs } = await subject.rest(IDLE_MS);
  const view = subject.outsideBetween(fromMs, toMs);
  return view && Math.max(0, ...view.processes.map(({ main }) => main.run));
}

/** The load as asked for; where it is a rate that the server does not bear, as many connections as were in flight. */
async function baseline(
  subject: Subject,
  length: BlockLength,
  moreLoad: boolean,
): Promise<Observation> {
  const asked = await subject.block(length);
  const { plan, meanInFlight } = asked.load;
  if (plan.model === 'closed' || bearsRate(asked) || !moreLoad) return asked;
  subject.saturate(
    Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, Math.round(meanInFlight))),
  );
  return subject.block(length);
}

/** Of a load that becomes closed: enough to saturate most services, and not more than most bear. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 256];

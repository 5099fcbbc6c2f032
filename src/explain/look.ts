import { type Facts, factsOf, type Seen } from './facts.js';
import { heldBytes } from './growth.js';
import type { Observation } from './observation.js';
import type { Sampled } from './sample.js';
import type { BlockLength, Subject } from './subject.js';
import type { Retained } from './suspects/memory.js';
import { bearsRate } from './verdict.js';

/** What was seen before anything was changed. */
export interface Looked {
  facts: Facts;
  retained: Retained | null;
}

const IDLE_MS = 700;

/** Looks at the server without load, with one request at a time, and with the load as asked for. */
export async function look(
  subject: Subject,
  { sample, tookMs, identityBytes }: Sampled,
  onStep: (what: string) => void,
): Promise<Looked> {
  onStep('looking at the server without load');
  const idle = await subject.rest(IDLE_MS);
  const idleView = subject.outsideBetween(idle.fromMs, idle.toMs);
  const idleShare = idleView
    ? Math.max(0, ...idleView.processes.map(({ main }) => main.run))
    : null;

  onStep('one request at a time');
  const aloneMs = tookMs ?? 50;
  const single = await subject.block(
    { settleMs: 300, measureMs: Math.min(6000, Math.max(1200, aloneMs * 8)) },
    { alone: true },
  );
  const estimateMs = Math.max(aloneMs / 2, single.load.latencyMs.p50 ?? aloneMs);

  onStep('warming up with the load as asked for');
  await subject.block({ settleMs: 0, measureMs: Math.min(5000, Math.max(1500, estimateMs * 5)) });
  const before = await heldBytes(subject);
  const answered = subject.answered;
  onStep('measuring with the load as asked for');
  const settleMs = Math.min(3000, Math.max(300, estimateMs * 3));
  const length = { settleMs, measureMs: Math.min(8000, Math.max(3000, estimateMs * 15)) };
  const base = await baseline(subject, length);
  const after = before === null ? null : await heldBytes(subject);
  const retained =
    before !== null && after !== null
      ? { requests: subject.answered - answered, beforeBytes: before, afterBytes: after }
      : null;
  return {
    facts: factsOf({ base, single, sample, idleShare, identityBytes } satisfies Seen),
    retained,
  };
}

/** The load as asked for; where it is a rate that the server does not bear, as many connections as were in flight. */
async function baseline(subject: Subject, length: BlockLength): Promise<Observation> {
  const asked = await subject.block(length);
  const { plan, meanInFlight } = asked.load;
  if (plan.model === 'closed' || bearsRate(asked)) return asked;
  subject.saturate(
    Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, Math.round(meanInFlight))),
  );
  return subject.block(length);
}

/** Of a load that becomes closed: enough to saturate most services, and not more than most bear. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 256];

import { count, rate, share, time } from '../format/units.js';
import type { LoadResult } from '../load/result.js';
import { isDelayedAck } from './hypotheses/connections/delayed-ack.js';
import { SATURATED } from './hypotheses/event-loop/loop-capacity.js';
import type { LimitId } from './limits/ids.js';

/** What a load alone tells about its limit: never more than a guess, as nothing was tried. */
export interface Hint {
  limit: LimitId | null;
  sentence: string;
}

const IDLE = 0.6;
const ERRORS = 0.01;

/** The likely limit of a run, from what the run itself saw; `null` where it says too little, or said it already. */
export function quickHint(result: LoadResult): Hint | null {
  const { requests, generator, plan, server, throughput, latencyMs, gapMs } = result;
  const answered = requests.ok + requests.statusErrors;
  if (requests.ok === 0 || generator.clientBound || result.durationMs < 1000) return null;
  if (requests.statusErrors / answered >= ERRORS) return null;
  const main = server?.threads.find(({ group }) => group === 'main');
  if (!server || !main || main.cpu === 0) return null;
  const busy = main.cpu;
  const cpuMs = (busy * 1000) / throughput.mean;
  const most = `${time(cpuMs)} of CPU per request, so one loop gives about ${rate(1000 / cpuMs)} req/s`;
  if (plan.model === 'open') {
    if (result.warnings.some(({ id }) => id === 'rate-not-reached')) return null;
    return {
      limit: null,
      sentence: `it keeps up: the main thread is ${share(Math.min(1, busy))} busy (${most}).`,
    };
  }
  const slots = plan.connections * plan.pipelining;
  if (busy >= SATURATED && main.threads <= 2) {
    return {
      limit: 'event-loop-cpu',
      sentence: `likely the event loop: its thread is ${share(Math.min(1, busy))} busy (${most}).`,
    };
  }
  if (busy > IDLE) return null;
  const each = (latencyMs.mean ?? 0) / 1000;
  const gap = gapMs.p50 ?? 0;
  if (gapMs.count > answered / 5 && isDelayedAck(gap)) {
    return {
      limit: 'nagle-delayed-ack',
      sentence: `likely a timer of TCP: ${time(gap)} lie between the first and the last byte of a response (Nagle's algorithm and a delayed acknowledgement).`,
    };
  }
  return {
    limit: 'too-few-connections',
    sentence: `likely too few connections: the main thread is only ${share(busy)} busy, and ${count(slots)} in flight / ${time(latencyMs.mean)} = ${rate(slots / each)} req/s. Unless the requests queue inside.`,
  };
}

import { busiest, wantedBy, working } from '../metrics/derive.js';
import type { Loop, Metrics } from '../metrics/types.js';
import type { Stage } from '../result.js';

/**
 * Where the requests are: by Little's law each stage holds throughput times the time spent in it. A loop serves one at
 * a time, so what holds it holds one request at most. The stages sum to the number of requests; what no signal places
 * is `unexplained`.
 */
export function requestBreakdown(facts: Metrics): Stage[] {
  const total = facts.maxConcurrency;
  const stages: Stage[] = [];
  let left = total;
  const put = (stage: string, requests: number) => {
    const placed = Math.min(Math.max(0, requests), Math.max(0, left));
    if (placed < total * 0.0005) return;
    stages.push({ stage, requests: placed });
    left -= placed;
  };

  const { base, loop, sockets, throughput } = facts;
  const { inside, load } = base;
  const notSent = facts.model === 'closed' ? Math.max(0, total - facts.inFlight) : 0;
  const reopens = load.connections.opened > load.plan.connections * 2;
  if (load.plan.thinkTimeMs > 0) put('pausing at the client (think time)', notSent);
  else if (reopens) put('connecting', notSent);

  const loops = loopsOf(facts);
  if (loops) {
    const collecting = inside ? inside.gc.young + inside.gc.old + inside.gc.other : 0;
    // Shares are means over the processes.
    const collected = collecting * (inside?.processes ?? 1);
    put('on a core', Math.max(0, loops.run - collected));
    put('garbage collection', collected);
    put('waiting for a core', loops.queued);
    put("on a core that the machine's host has taken", loops.stolen);
    put('held in a synchronous call', loops.waiting);
  }
  if (inside) {
    const onLoop = loops?.busy ?? 0;
    const waiting = Math.max(0, inside.inFlight - onLoop);
    let inHandler = waiting;
    const within = (stage: string, requests: number) => {
      const placed = Math.min(requests, inHandler);
      put(stage, placed);
      inHandler -= placed;
    };
    for (const { origin, waiting, answering } of inside.outbound) {
      within(`waiting for a socket to ${origin}`, waiting);
      within(`waiting for ${origin}`, answering);
    }
    within('waiting for files', inside.resources.FSReqCallback ?? 0);
    within('waiting for names (DNS)', inside.resources.GetAddrInfoReqWrap ?? 0);
    within('waiting in handlers', inHandler);
  }
  const gap = (load.gapMs.mean ?? 0) * (load.gapMs.count / Math.max(1, load.durationMs));
  put('between first and last byte', gap);
  if (sockets && sockets.looks > 0) {
    const perSocket = load.plan.pipelining;
    put('unread by the generator', sockets.client.unread * sockets.client.sockets * perSocket);
    const behind = Math.max(0, left);
    const unread = sockets.server.unread * sockets.server.sockets * perSocket;
    put('waiting to be read by the server', Math.min(behind, unread));
  }
  // What the server has read in one go and not begun: a busy loop takes many events per turn.
  if (loop && loop.busy > 0.85 && busiest(base)) put('waiting for the event loop', left);
  if (throughput > 0 && left > total * 0.01) stages.push({ stage: 'unexplained', requests: left });
  return stages;
}

/** Of all loops together, each of which serves one request at a time: busy, and of that on a core, without one, and waiting within a call. */
function loopsOf({
  base,
  loop,
}: Metrics): Pick<Loop, 'busy' | 'run' | 'queued' | 'stolen' | 'waiting'> | null {
  const mains = working(base).map(({ main }) => main);
  const { inside, outside } = base;
  if (!loop || (mains.length < 2 && (inside?.processes ?? 1) < 2)) return loop;
  const busy = inside?.busyLoops;
  if (mains.length === 0)
    return { busy: busy ?? 0, run: busy ?? 0, queued: 0, stolen: 0, waiting: 0 };
  const run = mains.reduce((sum, main) => sum + main.run, 0);
  const queued = mains.reduce((sum, main) => sum + main.queued, 0);
  const wanted = mains.reduce((sum, main) => sum + wantedBy(main, base), 0);
  const waits = busy !== undefined && outside?.seesQueues;
  const waiting = waits ? Math.max(0, busy - wanted) : 0;
  return { busy: busy ?? wanted, run, queued, stolen: wanted - run - queued, waiting };
}

import { busiest, type Facts } from './facts.js';
import type { Stage } from './result.js';

/**
 * Where the requests are: by Little's law each stage holds throughput times the time spent in it. The loop serves one at
 * a time, so what holds it holds one request at most. The stages sum to the number of requests; what no signal places
 * is `unexplained`.
 */
export function populationOf(facts: Facts): Stage[] {
  const total = facts.slots;
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

  if (loop) {
    const collecting = inside ? inside.gc.young + inside.gc.old + inside.gc.other : 0;
    put('on a core', Math.max(0, loop.run - collecting));
    put('garbage collection', collecting);
    put('waiting for a core', loop.queued);
    put('held in a synchronous call', loop.waiting);
  }
  if (inside) {
    const onLoop = Math.min(1, loop?.busy ?? 0);
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

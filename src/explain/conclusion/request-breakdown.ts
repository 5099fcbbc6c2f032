import { speaksHttp2 } from '../../load/http-version.js';
import { computeMaxInFlight } from '../../load/streams.js';
import { computeWantedShare, findBusiestProcess, findWorkingProcesses } from '../metrics/derive.js';
import type { Loop, Metrics } from '../metrics/types.js';
import type { ExplainStage, ExplainStageName } from '../result.js';

/**
 * Derives where the requests in flight are: by Little's law a stage contains throughput times the time spent in it. A
 * loop serves one request at a time, so that its stages contain at most one. The stages sum to the number of requests;
 * those that no measurement locates are `unexplained`. Requests for which the server allows no stream are in none of its
 * stages.
 */
export function deriveRequestBreakdown(metrics: Metrics): ExplainStage[] {
  const total = metrics.maxConcurrency;
  const stages: ExplainStage[] = [];
  let left = total;
  const place = (stage: ExplainStageName, label: string, requests: number) => {
    const placed = Math.min(Math.max(0, requests), Math.max(0, left));
    if (placed < total * 0.0005) return;
    stages.push({ stage, label, requests: placed });
    left -= placed;
  };

  const { base, loop, sockets, throughput } = metrics;
  const { inside, load } = base;
  const waitsForStream = metrics.model === 'closed' ? countWaitingForStream(load) : 0;
  if (waitsForStream > 0) {
    stages.push({
      stage: 'stream-wait',
      label: 'waiting for a stream of a connection',
      requests: waitsForStream,
    });
  }
  const notSent = metrics.model === 'closed' ? Math.max(0, total - metrics.inFlight) : 0;
  const reopens = load.connections.opened > load.plan.connections * 2;
  if (load.plan.thinkTimeMs > 0) place('think-time', 'pausing at the client (think time)', notSent);
  else if (reopens) place('connecting', 'connecting', notSent);

  const loops = sumLoops(metrics);
  if (loops) {
    const collecting = inside ? inside.gc.young + inside.gc.old + inside.gc.other : 0;
    // Shares are means over the processes.
    const collected = collecting * (inside?.processes ?? 1);
    place('on-core', 'on a core', Math.max(0, loops.run - collected));
    place('garbage-collection', 'garbage collection', collected);
    place('core-wait', 'waiting for a core', loops.queued);
    place('steal', 'on a core taken by the host (steal)', loops.stolen);
    place('synchronous-call', 'waiting in a synchronous call', loops.waiting);
  }
  if (inside) {
    const onLoop = loops?.busy ?? 0;
    const waiting = Math.max(0, inside.inFlight - onLoop);
    let inHandler = waiting;
    const placeInHandler = (stage: ExplainStageName, label: string, requests: number) => {
      const placed = Math.min(requests, inHandler);
      place(stage, label, placed);
      inHandler -= placed;
    };
    for (const { origin, waiting, answering } of inside.outbound) {
      placeInHandler('connection-wait', `waiting for a connection to ${origin}`, waiting);
      placeInHandler('dependency', `waiting for ${origin}`, answering);
    }
    placeInHandler('file-access', 'waiting for file access', inside.resources.FSReqCallback ?? 0);
    placeInHandler(
      'dns-lookup',
      'waiting for DNS lookups',
      inside.resources.GetAddrInfoReqWrap ?? 0,
    );
    placeInHandler('handler', 'waiting in handlers', inHandler);
  }
  const gap = (load.gapMs.mean ?? 0) * (load.gapMs.count / Math.max(1, load.durationMs));
  place('response-gap', 'between first and last byte', gap);
  if (sockets && sockets.samples > 0) {
    // Streams end one by one: unread bytes are of one request at least, not of all on the connection.
    const perSocket = speaksHttp2(load.plan) ? 1 : load.plan.pipelining;
    place(
      'generator-unread',
      'unread by the generator',
      sockets.client.unread * sockets.client.sockets * perSocket,
    );
    const behind = Math.max(0, left);
    const unread = sockets.server.unread * sockets.server.sockets * perSocket;
    place('server-unread', 'waiting to be read by the server', Math.min(behind, unread));
  }
  // Requests that the server has read but not begun: a busy loop takes many events per turn.
  if (loop && loop.busy > 0.85 && findBusiestProcess(base))
    place('event-loop', 'waiting for the event loop', left);
  if (throughput > 0 && left > total * 0.01) {
    stages.push({ stage: 'unexplained', label: 'unexplained', requests: left });
  }
  return stages;
}

/** Counts the requests of a closed load that are not in flight, as the server does not allow as many streams. */
function countWaitingForStream(load: Metrics['base']['load']): number {
  const { connections, pipelining } = load.plan;
  return connections * pipelining - computeMaxInFlight(load);
}

/** Sums how all loops spend their time, each of which serves one request at a time. */
function sumLoops({
  base,
  loop,
}: Metrics): Pick<Loop, 'busy' | 'run' | 'queued' | 'stolen' | 'waiting'> | null {
  const mains = findWorkingProcesses(base).map(({ main }) => main);
  const { inside, outside } = base;
  if (!loop || (mains.length < 2 && (inside?.processes ?? 1) < 2)) return loop;
  const busy = inside?.busyLoops;
  if (mains.length === 0)
    return { busy: busy ?? 0, run: busy ?? 0, queued: 0, stolen: 0, waiting: 0 };
  const run = mains.reduce((sum, main) => sum + main.run, 0);
  const queued = mains.reduce((sum, main) => sum + main.queued, 0);
  const wanted = mains.reduce((sum, main) => sum + computeWantedShare(main, base), 0);
  const waits = busy !== undefined && outside?.hasRunQueueTimes;
  const waiting = waits ? Math.max(0, busy - wanted) : 0;
  return { busy: busy ?? wanted, run, queued, stolen: wanted - run - queued, waiting };
}

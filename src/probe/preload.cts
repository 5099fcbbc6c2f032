// `node --require preload.cjs`: what millrace has in NODE_OPTIONS of the processes that it starts.
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { connectProbe, type Left } from './agent.cjs';
import { groupOfCommand } from './process/parent-watch.cjs';
import { remapPorts } from './process/port-remap.cjs';

const path = process.env.MILLRACE_PROBE;
const moved = process.env.MILLRACE_PROBE_MOVED;
if (isMainThread) {
  const isMoved = moved !== undefined && remapPorts(JSON.parse(moved));
  if (path) connectProbe(path, false, atEnd(isMoved));
}

/**
 * A second process is of no use without millrace. The first one was started for it, and is ended before millrace lets go of
 * the probe: where it sees that, millrace was killed, and nobody else would end it, nor what runs beside it for the command.
 */
function atEnd(isMoved: boolean): Left | undefined {
  const group = groupOfCommand(Number(process.env.MILLRACE_PROBE_OF));
  // Those who started it are told once, not by each of a cluster.
  const isTold = group !== null && !cluster.isWorker;
  if (!isTold && !isMoved) return undefined;
  return (wasOpen) => {
    if (wasOpen && isTold) process.kill(-group, 'SIGTERM');
    if (isMoved) process.exit();
  };
}

// `node --require preload.cjs`: what millrace has in NODE_OPTIONS of the processes that it starts.
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { connectProbe, type OnDisconnect } from './agent.cjs';
import { findCommandGroup } from './process/parent-watch.cjs';
import { remapPorts } from './process/port-remap.cjs';

const path = process.env.MILLRACE_PROBE;
const remap = process.env.MILLRACE_PROBE_MOVED;
if (isMainThread) {
  const isRemapped = remap !== undefined && remapPorts(JSON.parse(remap));
  if (path) connectProbe(path, false, createDisconnectHandler(isRemapped));
}

/**
 * A second process is of no use without millrace. The first one was started for it, and is ended before millrace lets go of
 * the probe: where it sees that, millrace was killed, and nobody else would end it, nor what runs beside it for the command.
 */
function createDisconnectHandler(isRemapped: boolean): OnDisconnect | undefined {
  const group = findCommandGroup(Number(process.env.MILLRACE_PROBE_OF));
  // Those who started it are told once, not by each of a cluster.
  const endsGroup = group !== null && !cluster.isWorker;
  if (!endsGroup && !isRemapped) return undefined;
  return (wasOpen) => {
    if (wasOpen && endsGroup) process.kill(-group, 'SIGTERM');
    if (isRemapped) process.exit();
  };
}

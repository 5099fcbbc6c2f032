// `node --require preload.cjs`: Millrace adds it to NODE_OPTIONS of the processes that it starts.
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { connectProbe, type OnDisconnect } from './agent.cjs';
import { findCommandGroup } from './process/parent-watch.cjs';
import { remapPorts } from './process/port-remap.cjs';
import { setFilesAside } from './runtime/files-aside.cjs';

const path = process.env.MILLRACE_PROBE;
const remap = process.env.MILLRACE_PROBE_MOVED;
const aside = process.env.MILLRACE_PROBE_ASIDE;
if (isMainThread) {
  if (aside !== undefined) setFilesAside(JSON.parse(aside));
  const isRemapped = remap !== undefined && remapPorts(JSON.parse(remap));
  const onDisconnect = createDisconnectHandler(isRemapped);
  const options = { isRunning: false, isObserver: false, ...(onDisconnect && { onDisconnect }) };
  if (path) connectProbe(path, options);
}

/**
 * Creates the handler for the end of the channel. A second process has no purpose without Millrace, so it exits. The
 * first one is ended by Millrace before the channel closes; if the channel closes first, Millrace was killed, and the
 * process ends its own group, with everything that the command started.
 */
function createDisconnectHandler(isRemapped: boolean): OnDisconnect | undefined {
  const group = findCommandGroup(Number(process.env.MILLRACE_PROBE_OF));
  // One signal per group: the workers of a cluster send none.
  const endsGroup = group !== null && !cluster.isWorker;
  if (!endsGroup && !isRemapped) return undefined;
  return (wasOpen) => {
    if (wasOpen && endsGroup) process.kill(-group, 'SIGTERM');
    if (isRemapped) process.exit();
  };
}

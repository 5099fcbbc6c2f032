// `node --require preload.cjs`: what millrace has in NODE_OPTIONS of the processes that it starts.
import { isMainThread } from 'node:worker_threads';
import { movePorts } from './moved-ports.cjs';
import { connectProbe } from './probe.cjs';

const path = process.env.MILLRACE_PROBE;
const moved = process.env.MILLRACE_PROBE_MOVED;
if (isMainThread) {
  const isMoved = moved !== undefined && movePorts(JSON.parse(moved));
  // A second process is of no use without millrace.
  if (path) connectProbe(path, false, isMoved ? () => process.exit() : undefined);
}

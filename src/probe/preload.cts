// `node --require preload.cjs`: what millrace has in NODE_OPTIONS of the processes that it starts.
import { isMainThread } from 'node:worker_threads';
import { movePorts } from './moved-ports.cjs';
import { connectProbe, type Leave } from './probe.cjs';

const path = process.env.MILLRACE_PROBE;
const moved = process.env.MILLRACE_PROBE_MOVED;
if (isMainThread) {
  const isMoved = moved !== undefined && movePorts(JSON.parse(moved));
  if (path) connectProbe(path, false, isMoved ? () => process.exit() : endIfOrphaned);
}

/** A second process is of no use without millrace, and the first one was started for it alone: nobody else would end it. */
function endIfOrphaned(how: Leave): void {
  if (how === 'died') process.kill(process.pid, 'SIGTERM');
}

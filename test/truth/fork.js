import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('child.js', import.meta.url));

/**
 * Starts a truth server in a process of its own for the time of the test `t`, with a script of `scripts.js`. `core` pins
 * it to one core.
 */
export async function forkedTruthServer(t, name, args = [], { core, ...options } = {}) {
  const pinned = { execPath: 'taskset', execArgv: ['-c', `${core}`, process.execPath] };
  const child = fork(CHILD, [name, JSON.stringify({ args, options })], {
    serialization: 'advanced',
    ...(core !== undefined && pinned),
  });
  t.after(() => end(child));
  const [{ url, port }] = await once(child, 'message');
  return {
    url,
    port,
    child,
    /** What it saw, after `opened` connections have come and gone. */
    async settled(opened) {
      child.send(opened);
      const [log] = await once(child, 'message');
      return log;
    },
  };
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

import { lstatSync, mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  formatObserveFolder,
  formatObserveSocket,
  parseObserveSocket,
} from '../format/observe-socket.cjs';
import { MAX_SOCKET_PATH_BYTES } from '../format/socket-path.cjs';
import { ignoreErrors } from './runtime/clock.cjs';

/** Maximum number of sockets that ended processes have left which are removed at a time. */
const MAX_REMOVED = 100;

/**
 * Listens for a watch of this user, at a Unix socket in a folder that only this user can enter. It tries the folders for
 * temporary files one after the other. Where none can be used it does nothing: the application has to run nonetheless,
 * and the watch says why it does not find the process.
 */
export const listenForWatch = ignoreErrors((): void => {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  const places = [process.env.XDG_RUNTIME_DIR, tmpdir(), '/tmp'];
  const usable = [...new Set(places)].filter((place) => isTrusted(place, uid)) as string[];
  listenInFirst(
    usable.map((place) => join(place, formatObserveFolder(uid))),
    uid,
  );
});

/** Whether nobody else owns a folder, who might replace what is in it. */
function isTrusted(folder: string | undefined, uid: number): boolean {
  try {
    return folder !== undefined && [0, uid].includes(statSync(folder).uid);
  } catch {
    return false;
  }
}

/** Listens in the first of the folders in which that succeeds. */
const listenInFirst = ignoreErrors((folders: string[], uid: number): void => {
  const [folder, ...others] = folders;
  if (folder === undefined) return;
  const next = () => listenInFirst(others, uid);
  const path = join(folder, formatObserveSocket(process.pid));
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES || !prepareFolder(folder, uid)) {
    next();
    return;
  }
  const server = createServer(ignoreErrors(accept)).unref();
  server.on('error', next);
  // Without `exclusive` the worker of a cluster would ask its primary to listen.
  server.listen({ path, exclusive: true }, () => {
    removeAtExit(server);
    removeLeft(folder);
  });
});

/** Creates the folder, and removes what an ended process with this id has left in it. Returns whether it can be used. */
function prepareFolder(folder: string, uid: number): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  try {
    // Anybody may have created it: a link, or a folder that others can enter.
    const found = lstatSync(folder);
    if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) return false;
    unlinkSync(join(folder, formatObserveSocket(process.pid)));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
  return true;
}

/** Closing the server removes its socket. */
function removeAtExit(server: Server): void {
  process.once(
    'exit',
    ignoreErrors(() => server.close()),
  );
}

/** Removes the sockets of processes that were killed. */
const removeLeft = ignoreErrors((folder: string): void => {
  for (const name of readdirSync(folder).slice(0, MAX_REMOVED)) {
    const path = join(folder, name);
    const pid = parseObserveSocket(path);
    if (pid === null || isAlive(pid)) continue;
    // The process may live in another namespace of ids: only a socket that refuses is one that was left.
    const socket = connect(path).unref();
    socket.on('connect', () => socket.destroy());
    socket.on(
      'error',
      ignoreErrors((error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') unlinkSync(path);
      }),
    );
  }
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let active: Socket | null = null;

/** Lets one watch at a time observe the process; further ones are disconnected. */
function accept(socket: Socket): void {
  socket.unref();
  socket.on('error', () => {});
  if (active !== null) {
    socket.destroy();
    return;
  }
  active = socket;
  socket.once('close', () => {
    active = null;
  });
  // Loaded when the first watch connects: until then it costs nothing.
  const { startProbe } = require('./agent.cjs') as typeof import('./agent.cjs');
  startProbe(socket, { isRunning: true, isObserver: true });
}

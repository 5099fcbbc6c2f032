import { rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import type { HttpServer } from '../node/node-internals.js';
import type { ControlAnswer, ControlledServer, ControlRequest } from './control-protocol.js';
import { controlDirectory } from './control-protocol.js';
import type { ServerCache } from './server-cache.js';

/** A server that has a cache. */
interface CachingServer {
  readonly server: HttpServer;
  readonly cache: ServerCache;
}

/** Servers with a cache, for `millrace cache`. */
const offered = new Set<CachingServer>();
let control: net.Server | null = null;
let path = '';

/** Lets `millrace cache` look at a server's cache, as long as it has one. */
export function offerControl(server: CachingServer, offers: boolean): void {
  if (offers) offered.add(server);
  else offered.delete(server);
  if (offered.size > 0 && control === null) listen();
  if (offered.size === 0 && control !== null) {
    control.close();
    control = null;
  }
}

/** Nothing that goes wrong here concerns the application: then there is no view from outside. */
function listen(): void {
  try {
    const directory = controlDirectory();
    if (directory === null) return;
    // Containers may share the directory, and have processes of the same number.
    const { randomBytes } = process.getBuiltinModule('node:crypto');
    const { threadId } = process.getBuiltinModule('node:worker_threads');
    path = join(directory, `${process.pid}.${threadId}.${randomBytes(4).toString('hex')}`);
    control = net.createServer({ allowHalfOpen: true }, onConnection);
    control.on('error', () => {});
    // In a cluster's worker too it is this process that listens.
    control.listen({ path, exclusive: true }).unref();
    process.off('exit', clean);
    process.once('exit', clean);
  } catch {
    control = null;
  }
}

function onConnection(socket: net.Socket): void {
  socket.unref();
  socket.on('error', () => {});
  let request = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    request += part;
  });
  socket.on('end', () => socket.end(JSON.stringify(answer(request))));
}

function clean(): void {
  if (path !== '') rmSync(path, { force: true });
}

function answer(text: string): ControlAnswer | { error: string } {
  try {
    const request = JSON.parse(text) as ControlRequest;
    return { pid: process.pid, servers: [...offered].map((server) => obey(server, request)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function obey({ cache, server }: CachingServer, request: ControlRequest): ControlledServer {
  const address = server.address();
  const at = typeof address === 'object' ? `${address?.address}:${address?.port}` : address;
  const removed =
    request.do === 'clear'
      ? cache.clear()
      : request.do === 'delete' && request.selection
        ? cache.delete(request.selection)
        : undefined;
  return {
    address: at,
    stats: cache.stats(),
    ...(request.do === 'entries' && { entries: cache.entries() }),
    ...(removed !== undefined && { removed }),
  };
}

import { fork } from 'node:child_process';
import { listenErrorReason } from '../errors/listen-errors.js';
import { MillraceError } from '../errors/millrace-error.js';
import { planTestServer, type TestServerOptions, type TestServerPlan } from './options.js';
import { serveInChild } from './remote.js';
import { type RunningServer, serve } from './serve.js';

/** A running test server. */
export interface TestServer {
  /** URL to load: `http://127.0.0.1:40123/`, or `unix:/path/to.sock:/` on a Unix socket. */
  url: string;
  /** The port; `null` on a Unix socket. */
  port: number | null;
  /** Process id of the process that owns the port; the server is this process and its descendants. */
  pid: number;
  /** Process ids of the processes that answer. */
  pids: number[];
  /** PEM certificate for clients to trust, as in `load({ url, ca: cert })`; `null` without TLS. */
  cert: string | null;
  /** Resolves when the server has ended: by `close()`, or because one of its processes died. */
  exited: Promise<void>;
  /** Number of requests whose head has arrived so far, in all processes. */
  requests(): Promise<number>;
  /** Ends connections and processes at once; resolves when all have ended. */
  close(): Promise<void>;
  /** As `close()`, at the end of a block that begins with `await using server = await startTestServer()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts an HTTP server for trying load tests: plain `node:http` or `node:http2` in child processes, which end with the calling process.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE`: an option is invalid, or the server cannot listen on the address.
 * @example
 * // A service that takes 50 ms, on one core.
 * const server = await startTestServer({ processes: 1, delay: 50 });
 * const result = await load({ url: server.url, connections: 100 });
 * await server.close();
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const plan = await planTestServer(options);
  const { signal } = options;
  signal?.throwIfAborted();
  try {
    const { pid, server } = await start(plan);
    await closeWhenAborted(server, signal);
    return {
      ...server,
      url: buildUrl(plan, server.port),
      pid,
      cert: plan.tls?.cert.join('\n') ?? null,
      [Symbol.asyncDispose]: () => server.close(),
    };
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error;
    throw toStartError(plan, error as NodeJS.ErrnoException);
  }
}

/** Closes the server when the signal is aborted; rejects with its reason if that has happened meanwhile. */
async function closeWhenAborted(server: RunningServer, signal?: AbortSignal): Promise<void> {
  if (!signal) return;
  if (signal.aborted) {
    await server.close();
    throw signal.reason;
  }
  const close = () => void server.close().catch(() => {});
  signal.addEventListener('abort', close, { once: true });
  const forget = () => signal.removeEventListener('abort', close);
  server.exited.then(forget, forget);
}

async function start(plan: TestServerPlan): Promise<{ pid: number; server: RunningServer }> {
  if (plan.processes === 0) return { pid: process.pid, server: await serve(plan) };
  const child = fork(new URL('./child.js', import.meta.url), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return { pid: child.pid as number, server: await serveInChild(child, plan) };
}

function buildUrl({ listen, tls }: TestServerPlan, port: number | null): string {
  if ('path' in listen) return `unix:${listen.path}:/`;
  return `${tls === null ? 'http' : 'https'}://${toReachableHost(listen.host)}:${port}/`;
}

/** Converts a listening address into one that clients can connect to: a wildcard address becomes loopback. */
function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function toStartError({ listen }: TestServerPlan, cause: NodeJS.ErrnoException): MillraceError {
  const where = 'path' in listen ? listen.path : `${listen.host} port ${listen.port}`;
  const message = `cannot listen on ${where}: ${listenErrorReason(cause)}`;
  return new MillraceError('ERR_MILLRACE_USAGE', message, { cause });
}

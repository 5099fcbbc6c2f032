import { fork } from 'node:child_process';
import { MillraceError } from '../errors.js';
import { planTestServer, type TestServerOptions, type TestServerPlan } from './options.js';
import { serveInChild } from './remote.js';
import { type RunningServer, serve } from './serve.js';

/** A test server that listens. */
export interface TestServer {
  /** What to load: `http://127.0.0.1:40123/`, or `unix:/path/to.sock:/` on a Unix socket. */
  url: string;
  /** `null` on a Unix socket. */
  port: number | null;
  /** The process that holds the port; its tree is the server. */
  pid: number;
  /** The processes that answer. */
  pids: number[];
  /** The certificate, PEM, for a client to trust; `null` without TLS. */
  cert: string | null;
  /** Resolves when the server has ended: by `close()`, or because one of its processes died. */
  exited: Promise<void>;
  /** Requests received so far, by all processes. */
  requests(): Promise<number>;
  /** Ends connections and processes at once; resolves when nothing is left of them. */
  close(): Promise<void>;
}

/**
 * Starts an HTTP server to try load tests on: plain `node:http` in processes of its own, which end with the calling one.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE`: an option cannot be used, or the address cannot be listened on.
 * @example
 * // A service that takes 50 ms, on one core.
 * const server = await startTestServer({ processes: 1, delay: 50 });
 * const result = await load({ url: server.url, connections: 100 });
 * await server.close();
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const plan = await planTestServer(options);
  try {
    const { pid, server } = await start(plan);
    return {
      ...server,
      url: buildUrl(plan, server.port),
      pid,
      cert: plan.tls?.cert ?? null,
    };
  } catch (error) {
    throw toStartError(plan, error as NodeJS.ErrnoException);
  }
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

/** The address that stands for every interface is none to connect to. */
function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
  ENOTFOUND: 'no such host',
  ENOENT: 'no such folder',
};

function toStartError({ listen }: TestServerPlan, cause: NodeJS.ErrnoException): MillraceError {
  const where = 'path' in listen ? listen.path : `${listen.host} port ${listen.port}`;
  const reason = REASONS[cause.code ?? ''] ?? cause.message;
  return new MillraceError('ERR_MILLRACE_USAGE', `cannot listen on ${where}: ${reason}`, { cause });
}

import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestServerPlan } from './options.js';
import { createResponder } from './responder.js';

/** A listening server, in this process or in others. */
export interface RunningServer {
  /** `null` on a Unix socket. */
  port: number | null;
  /** Process ids of the processes that answer. */
  pids: number[];
  /** Resolves when the server has ended, by `close()` or otherwise. */
  exited: Promise<void>;
  requests(): Promise<number>;
  close(): Promise<void>;
}

/** Listens and answers in this process. Node's time limits are off, so that idle connections of a load test stay open. */
export async function serve(plan: TestServerPlan): Promise<RunningServer> {
  const { listener, requests } = createResponder(plan);
  const limits = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server =
    plan.tls === null
      ? http.createServer(limits, listener)
      : https.createServer({ ...limits, ...plan.tls }, listener);
  // The system reduces the backlog to its own maximum.
  server.listen({ ...plan.listen, backlog: 65535 });
  await once(server, 'listening');
  const exited = new Promise<void>((resolve) => server.once('close', () => resolve()));
  return {
    port: (server.address() as AddressInfo).port ?? null,
    pids: [process.pid],
    exited,
    requests: async () => requests(),
    async close() {
      server.close();
      server.closeAllConnections();
      await exited;
    },
  };
}

import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestServerPlan } from './options.js';
import { createResponder } from './responder.js';

/** A server that listens, in this process or in others. */
export interface RunningServer {
  /** `null` on a Unix socket. */
  port: number | null;
  /** Of the processes that answer. */
  pids: number[];
  /** Resolves when it has ended, by `close()` or without. */
  exited: Promise<void>;
  requests(): Promise<number>;
  close(): Promise<void>;
}

/** Listens and answers in this process. Nothing of Node's ends a connection that a load test holds idle. */
export async function serve(plan: TestServerPlan): Promise<RunningServer> {
  const { listener, requests } = createResponder(plan);
  const limits = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server =
    plan.tls === null
      ? http.createServer(limits, listener)
      : https.createServer({ ...limits, ...plan.tls }, listener);
  // The system lowers the backlog to what it allows.
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

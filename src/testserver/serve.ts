import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestServerPlan } from './options.js';
import { createResponder } from './responder.js';
import { createHttp1Server, createHttp2Server } from './servers.js';

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

/** Listens and answers in this process. */
export async function serve(plan: TestServerPlan): Promise<RunningServer> {
  const { listener, requests } = createResponder(plan);
  const { server, endConnections } = plan.http2
    ? createHttp2Server(plan, listener)
    : createHttp1Server(plan, listener);
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
      endConnections();
      await exited;
    },
  };
}

import type { IncomingMessage } from 'node:http';

/** What Node tells of a request that a server of the process has got. */
export interface Arrival {
  request: IncomingMessage;
  server: object;
}

/**
 * Which servers of the process are under study, by their ports: what a service asks may run in a process of the same
 * command, or in the service's own, and serves requests by HTTP as well.
 */
export class Studied {
  /** `null`: all. */
  #ports: Set<number> | null = null;
  /** A server's port, once it is known; `null`: it has none. */
  #portOf = new WeakMap<object, number | null>();
  readonly #seen = new Set<number | null>();

  /** Studies the servers on these ports from now on. Returns whether one of them has got a request already. */
  turnTo(ports: number[] | null): boolean {
    this.#ports = ports && new Set(ports);
    return [...this.#seen].some((port) => this.#includes(port));
  }

  covers({ request, server }: Arrival): boolean {
    let port = this.#portOf.get(server);
    if (port === undefined) {
      port = request.socket.localPort ?? null;
      this.#portOf.set(server, port);
      this.#seen.add(port);
    }
    return this.#includes(port);
  }

  #includes(port: number | null): boolean {
    return this.#ports === null || (port !== null && this.#ports.has(port));
  }
}

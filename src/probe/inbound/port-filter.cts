import type { IncomingMessage } from 'node:http';

/** What Node tells of a request that has come. */
export interface RequestStart {
  request: IncomingMessage;
}

/**
 * Which requests of the process are under study, by the port that they come to: what a service asks may run in a process of
 * the same command, or in the service's own, and gets requests by HTTP as well.
 */
export class PortFilter {
  /** `null`: all. */
  #ports: Set<number> | null = null;
  /** Those that have had requests; `undefined`: without a port, or too short-lived to tell. */
  readonly #seen = new Set<number | undefined>();

  /** Requests to these ports are under study from now on. Returns whether one has come already. */
  setPorts(ports: number[] | null): boolean {
    this.#ports = ports && new Set(ports);
    return [...this.#seen].some((port) => this.#isIncluded(port));
  }

  /** Whether a request is under study; its port is remembered. */
  matches({ request }: RequestStart): boolean {
    const port = request.socket.localPort;
    this.#seen.add(port);
    return this.#isIncluded(port);
  }

  #isIncluded(port: number | undefined): boolean {
    return this.#ports === null || (port !== undefined && this.#ports.has(port));
  }
}

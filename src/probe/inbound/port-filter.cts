import type { InboundMessage } from './channels.cjs';

/**
 * Selects requests by the port on which they arrive. A dependency of the service may run in a process of the same
 * command, or in the service's own, and receive HTTP requests as well.
 */
export class PortFilter {
  /** `null` includes all. */
  #ports: Set<number> | null = null;
  /** Ports that have received requests; `undefined` for a socket without a port or already closed. */
  readonly #seen = new Set<number | undefined>();

  /** Sets the ports from now on. Returns whether one of them has received a request already. */
  setPorts(ports: number[] | null): boolean {
    this.#ports = ports && new Set(ports);
    return [...this.#seen].some((port) => this.#isIncluded(port));
  }

  /** Whether a request counts; its port is remembered. */
  matches({ request }: Pick<InboundMessage, 'request'>): boolean {
    const port = request.socket.localPort;
    this.#seen.add(port);
    return this.#isIncluded(port);
  }

  #isIncluded(port: number | undefined): boolean {
    return this.#ports === null || (port !== undefined && this.#ports.has(port));
  }
}

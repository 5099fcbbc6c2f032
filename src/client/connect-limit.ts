import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { createUndiciError } from '../outbound/errors.js';
import { runExempt } from '../outbound/exemption.js';
import { cancelTimeout, scheduleTimeout, TimerEntry } from '../outbound/timer-wheel.js';
import { rememberConnection } from '../outbound/undici-connections.js';

/** Returns a connector whose connections have to be open within `limitMs`; 0: at any time. */
export function limitConnector(
  connect: buildConnector.connector,
  limitMs: number,
): buildConnector.connector {
  return (options, callback) => {
    let pending: PendingConnection | null = null;
    // Its type says that it returns nothing.
    const socket: unknown = runExempt(() =>
      connect(options, (...result) => {
        pending?.end();
        if (result[1]) rememberConnection(result[1] as Socket);
        callback(...result);
      }),
    );
    if (limitMs > 0) pending = new PendingConnection(socket as Socket, options.hostname, limitMs);
  };
}

/** A connection until it is open, its TLS handshake included. */
class PendingConnection extends TimerEntry {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #limitMs: number;

  constructor(socket: Socket, host: string, limitMs: number) {
    super();
    this.#socket = socket;
    this.#host = host;
    this.#limitMs = limitMs;
    this.dueAt = this.startedAt + limitMs;
    scheduleTimeout(this);
  }

  onDue(at: number): void {
    this.end();
    const facts = {
      ...{ limit: 'connect' as const, limitMs: this.#limitMs },
      ...{ host: this.#host, elapsedMs: at - this.startedAt },
    };
    this.#socket.destroy(createUndiciError(facts, 'a connection', 'millrace/client'));
  }

  end(): void {
    cancelTimeout(this);
  }
}

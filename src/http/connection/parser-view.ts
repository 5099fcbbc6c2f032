import type { Connection } from '../state/connection.js';

/** What stands where Node's sockets have their parser. */
export class ParserView {
  readonly socket: object;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.socket = connection.socket;
    this.#connection = connection;
  }

  /** The request that is being received, or was received last. */
  get incoming(): object | null {
    const { receiving, incoming } = this.#connection;
    return receiving ?? incoming.at(-1) ?? null;
  }
}

export function parserView(connection: Connection): ParserView | null {
  return connection.id < 0 ? null : new ParserView(connection);
}

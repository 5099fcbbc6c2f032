import { Duplex } from 'node:stream';
import { nodeHttp } from '../node/node-http.js';
import { type Incoming, kConnection, nodeConnection } from '../node/node-internals.js';
import type { Connection, HttpSocket } from '../state/connection.js';

/*
 * `socket.parser` is a parser of Node's own. A native connection needs none: it gets one when it is asked for it, from Node's code
 * for connections, which takes it back when the connection closes. The reactor parses; of the requests, the parser knows
 * the one that is being received.
 */

interface NodeParser {
  socket: object | null;
  incoming: Incoming | null;
}

/** What Node's code takes for the connection of a lent parser. */
type Borrower = Duplex & { parser: NodeParser | null };

const borrowers = new WeakMap<Connection, Borrower>();
let server: object | null = null;

function lend(connection: Connection): Borrower {
  server ??= new nodeHttp.Server();
  const borrower = new Duplex({ read() {} }) as Borrower;
  nodeConnection.call(server as never, borrower);
  const parser = borrower.parser as NodeParser;
  parser.socket = connection.socket;
  Object.defineProperty(parser, 'incoming', {
    get: () => getIncoming(connection),
    set() {},
    enumerable: true,
    configurable: true,
  });
  borrowers.set(connection, borrower);
  return borrower;
}

function getIncoming(connection: Connection): Incoming | null {
  return connection.receiving ?? connection.incoming.at(-1) ?? connection.ending;
}

/** A request is answered, and its end is still to be emitted: as with Node, the parser has it until then. */
export function keepUntilEnd(connection: Connection, request: Incoming): void {
  connection.ending = request;
  request.on('end', clearIncoming);
}

function clearIncoming(this: Incoming): void {
  // An application may have set another.
  const connection = (this.socket as unknown as Partial<HttpSocket> | null)?.[kConnection];
  if (connection?.ending === this) connection.ending = null;
}

/** The parser of a connection; `null` once its close was reported. */
export function getParser(connection: Connection): object | null {
  if (connection.isCloseEmitted) return null;
  return (borrowers.get(connection) ?? lend(connection)).parser;
}

/** Gives a socket that has become a stream its parser, as a property of its own. */
export function defineParser(socket: HttpSocket, connection: Connection): void {
  Object.defineProperty(socket, 'parser', {
    get: () => getParser(connection),
    set: (value) => setParser(socket, value),
    enumerable: true,
    configurable: true,
  });
}

function setParser(socket: HttpSocket, value: unknown): void {
  Object.defineProperty(socket, 'parser', {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** Takes the parser of a connection back, as Node does when the connection closes or goes to another process. */
export function freeParser(connection: Connection): void {
  const borrower = borrowers.get(connection);
  if (borrower?.parser) {
    Object.defineProperty(borrower.parser, 'incoming', { value: null, writable: true });
    borrower.emit('close');
  }
  if (connection.isStream) setParser(connection.socket, null);
}

import { AsyncResource } from 'node:async_hooks';
import type { ServerSocket } from './socket.js';

/** The asynchronous context of a connection's own events, as Node's handle of a connection has it. */
export class ConnectionContext extends AsyncResource {
  constructor() {
    super('TCPWRAP');
  }
}

/** The asynchronous context of a connection's requests, made when the connection is announced. To look at as Node's. */
export class HTTPServerAsyncResource extends AsyncResource {
  readonly type = 'HTTPINCOMINGMESSAGE';
  readonly socket: ServerSocket;

  constructor(socket: ServerSocket) {
    super('HTTPINCOMINGMESSAGE');
    this.socket = socket;
  }
}

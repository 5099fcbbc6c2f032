import { AsyncResource } from 'node:async_hooks';
import type { Connection, HttpSocket } from '../state/connection.js';
import { reportException } from './internal-errors.js';

/**
 * Calls an application from outside of JavaScript, in an asynchronous context. An exception is reported while that context
 * is current, as with Node: 'uncaughtException' finds the store of the request, and a domain its errors. Returns whether nothing was
 * thrown.
 */
export function callBack<A extends GuardedArguments>(
  context: AsyncResource,
  action: (...args: A) => void,
  ...args: A
): boolean {
  return context.runInAsyncScope(guarded<A>, undefined, action, ...args);
}

/** Calls an action and reports what it throws; returns whether nothing was thrown. */
export function guarded<A extends GuardedArguments>(
  action: (...args: A) => void,
  ...args: A
): boolean {
  try {
    action(...args);
    return true;
  } catch (error) {
    reportException(error, args[0]);
    return false;
  }
}

/** The connection that ends if the stack itself fails, and further arguments. */
type GuardedArguments = [connection: Connection | null, ...rest: unknown[]];

const kEnded = Symbol('millrace.ended');

/** Reports once to `async_hooks` that a context has ended; otherwise that is reported when the context is collected. */
export function endContext(context: AsyncResource | null): void {
  const marked = context as (AsyncResource & { [kEnded]?: true }) | null;
  if (marked === null || marked[kEnded]) return;
  marked[kEnded] = true;
  marked.emitDestroy();
}

/** The asynchronous context of a connection's own events, as Node's handle of a connection has it. */
export class ConnectionContext extends AsyncResource {
  constructor() {
    super('TCPWRAP');
  }
}

/** A context without stores: that in which the system reports new connections, and closed handles. */
export const NO_CONTEXT = new ConnectionContext();

/** The asynchronous context of a write that did not leave at once, as Node's request to write has it. */
export class WriteContext extends AsyncResource {
  constructor() {
    super('WRITEWRAP');
  }
}

/** The asynchronous context of a connection's requests, created when the connection is announced; it looks like Node's. */
export class HTTPServerAsyncResource extends AsyncResource {
  readonly type = 'HTTPINCOMINGMESSAGE';
  readonly socket: HttpSocket;

  constructor(socket: HttpSocket) {
    super('HTTPINCOMINGMESSAGE');
    this.socket = socket;
  }
}

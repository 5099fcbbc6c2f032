/**
 * `node:https`, with servers on the native stack; everything else, the client above all, is Node's own.
 *
 * @module millrace/https
 */
import type http from 'node:http';
import https from 'node:https';
import { inherits } from 'node:util';
import { packageVersion } from '../load/version.js';
import { type StackLimits, takeLimits } from './limits.js';
import { installSecure } from './listen.js';
import { slipstream } from './slipstream.js';

type Listener = http.RequestListener;
type Options = https.ServerOptions & Partial<StackLimits>;

interface ServerConstructor {
  new (options?: Options | Listener, listener?: Listener): https.Server;
  (options?: Options | Listener, listener?: Listener): https.Server;
  readonly prototype: https.Server;
}

function construct(
  this: https.Server,
  options?: Options | Listener,
  listener?: Listener,
): https.Server {
  if (!(this instanceof Server)) return new Server(options, listener);
  (https.Server as unknown as (...args: unknown[]) => void).call(this, options, listener);
  takeLimits(this as unknown as http.Server, options);
  return this;
}

/** As `https.Server`, callable with and without `new`. */
const Server = construct as unknown as ServerConstructor;
Object.defineProperty(Server, 'name', { value: 'Server' });
inherits(Server as never, https.Server);
installSecure(Server.prototype);

/** As `https.createServer`; the options may hold limits of the stack. */
function createServer(options?: Options | Listener, listener?: Listener): https.Server {
  return new Server(options, listener);
}

export * from 'node:https';
export { createServer, Server, slipstream };
export const millraceVersion: string = packageVersion();
export default { ...https, createServer, Server, slipstream, millraceVersion };

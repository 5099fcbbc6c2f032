/**
 * `node:https`, with servers on the native stack; everything else, the client above all, is Node's own.
 *
 * @module millrace/https
 */
import type http from 'node:http';
import https from 'node:https';
import type { StackOptions } from './install/options.js';
import { install, installSecureStack, isOff, packageVersion, serverClass } from './stack.js';

type Listener = http.RequestListener;
type Options = https.ServerOptions & StackOptions;

/** As `https.Server`, callable with and without `new`. */
const Server = serverClass<https.Server, https.ServerOptions>(https.Server, installSecureStack);

/** As `https.createServer`; the options may hold those of the stack. */
function createServer(options?: Options | Listener, listener?: Listener): https.Server {
  return new Server(options, listener);
}

export * from 'node:https';
export { createServer, install, Server };
/** Set where the stack is on. */
export const millraceVersion: string | undefined = isOff ? undefined : packageVersion();
export default { ...https, createServer, Server, install, millraceVersion };

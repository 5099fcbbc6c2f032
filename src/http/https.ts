/**
 * `node:https`, with servers on the native stack; everything else, the client above all, is Node's own.
 *
 * @module millrace/https
 */
import https from 'node:https';
import type { StackOptions } from './install/options.js';
import type { StackListener, StackMembers } from './server/stack-members.js';
import { install, installSecureStack, isOff, packageVersion, serverClass } from './stack.js';

type Options = https.ServerOptions & StackOptions;

/** A server on the native stack. */
type Server = https.Server & StackMembers;

/** As `https.Server`, callable with and without `new`. */
const Server = serverClass<Server, https.ServerOptions>(https.Server, installSecureStack);

/** As `https.createServer`; the options may hold those of the stack. */
function createServer(options?: Options | StackListener, listener?: StackListener): Server {
  return new Server(options, listener);
}

export * from 'node:https';
export { createServer, install, Server };
/** Set where the stack is on. */
export const millraceVersion: string | undefined = isOff ? undefined : packageVersion();
export default { ...https, createServer, Server, install, millraceVersion };

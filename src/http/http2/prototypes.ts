import type { HttpServer } from '../node/node-internals.js';
import { isLoaded, nodeTls } from '../tls/node-tls.js';

/** Node's prototype of the servers of HTTP/2 that this one is of; `null`: it is of none. */
export function findHttp2Prototype(server: HttpServer): object | null {
  for (
    let from = Object.getPrototypeOf(server);
    from !== null;
    from = Object.getPrototypeOf(from)
  ) {
    // No other server has it.
    if (Object.hasOwn(from, 'updateSettings')) return from;
  }
  return null;
}

/** Whether a server of HTTP/2 is one of TLS. */
export function isSecureHttp2(server: HttpServer): boolean {
  return isLoaded('tls') && (server as object) instanceof nodeTls().Server;
}

import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { packageVersion } from '../load/version.js';
import { takeLimits } from './limits.js';
import { install, installSecure } from './listen.js';
import { isOff } from './off.js';

interface Slipstreamed {
  createServer: typeof http.createServer;
  millraceVersion?: string;
}

/**
 * Puts the native stack under `node:http` for this process: servers that listen from now on are served
 * natively, whoever makes them. To be called before the application is loaded. Does nothing the second time, and
 * with `MILLRACE_STACK=node`.
 */
export function slipstream(): void {
  const target = http as Slipstreamed;
  if (isOff || target.millraceVersion !== undefined) return;
  install(http.Server.prototype);
  installSecure(https.Server.prototype);
  target.createServer = createServerOf(http.createServer);
  target.millraceVersion = packageVersion();
  syncBuiltinESMExports();
}

/** `createServer` that also knows the limits of the stack among its options. */
export function createServerOf(original: typeof http.createServer): typeof http.createServer {
  return function createServer(...args: Parameters<typeof http.createServer>): http.Server {
    const server = original(...args);
    takeLimits(server, args[0]);
    return server;
  } as typeof http.createServer;
}

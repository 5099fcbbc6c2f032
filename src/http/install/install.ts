import type http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { packageVersion } from '../../version.js';
import { isOff, isTurnedOff } from './disabled.js';
import { applyOptions, installPrefixes, installSecureStack, installStack } from './installation.js';
import { nodeHttp } from './node-http.js';
import './unknown-variables.js';

/**
 * Puts the native stack under `node:http` for this process: servers that listen from now on are served
 * natively, whoever makes them. To be called before the application is loaded. Does nothing the second time. With
 * `MILLRACE_STACK=node` servers are Node's own, but say why they cannot listen to URL prefixes; without the addon they have,
 * besides, what applications may ask the stack for.
 */
export function install(): void {
  const target = nodeHttp as { millraceVersion?: string };
  if (isDone || target.millraceVersion !== undefined) return;
  isDone = true;
  if (isTurnedOff) {
    installPrefixes(nodeHttp.Server.prototype);
    installPrefixes(https.Server.prototype);
    return;
  }
  installStack(nodeHttp.Server.prototype);
  installSecureStack(https.Server.prototype);
  if (isOff) return;
  applyOptionsIn(nodeHttp);
  applyOptionsIn(https);
  // Who lists what is in the module finds Node's own.
  const value = packageVersion();
  Object.defineProperty(target, 'millraceVersion', { value, writable: true, configurable: true });
  syncBuiltinESMExports();
}

let isDone = false;

interface ServerModule {
  Server: new (...args: unknown[]) => http.Server;
  createServer(options?: unknown, listener?: unknown): http.Server;
}

/** Servers of this module may have settings of the stack among their options, however they are made. */
function applyOptionsIn(module: object): void {
  const target = module as ServerModule;
  const { createServer } = target;
  target.createServer = function (options, listener) {
    const server = createServer.call(this, options, listener);
    applyOptions(server, options);
    return server;
  };
  Object.defineProperty(target.createServer, 'name', { value: 'createServer' });
  // The same object to look at, so that `instanceof`, `extends` and what others keep on it go on.
  target.Server = new Proxy(target.Server, {
    construct(made, args, newTarget) {
      const server: http.Server = Reflect.construct(made, args, newTarget);
      applyOptions(server, args[0]);
      return server;
    },
    // Without `new`: it gives a server, or makes one of its receiver, as classes of the old kind want.
    apply(made, receiver, args) {
      const server: http.Server | undefined = Reflect.apply(made as never, receiver, args);
      applyOptions(server ?? receiver, args[0]);
      return server;
    },
  });
  Object.defineProperty(target.Server.prototype, 'constructor', { value: target.Server });
}

import type http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { packageVersion } from '../../environment/version.js';
import { nodeHttp } from '../node/node-http.js';
import { isOff, isTurnedOff } from '../reactor/disabled.js';
import { servesNodeHttp2 } from '../server/http2.js';
import { followHttp2, followHttps } from './https-use.js';
import {
  applyOptions,
  installHttp2Servers,
  installPrefixes,
  installSecureContext,
  installSecureStack,
  installStack,
} from './installation.js';
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
    followHttps({
      tlsLoaded() {},
      httpsLoaded: installPrefixes,
      serverCreated() {},
    });
    return;
  }
  installStack(nodeHttp.Server.prototype);
  followHttps({
    tlsLoaded: installSecureContext,
    httpsLoaded(prototype, module) {
      installSecureStack(prototype);
      if (module && !isOff) applyOptionsIn(module);
    },
    serverCreated(server, options) {
      if (!isOff) applyOptions(server, options);
    },
  });
  if (isOff) return;
  if (servesNodeHttp2) followHttp2(installSecureContext);
  installHttp2Servers();
  const { Server } = nodeHttp;
  applyOptionsIn(nodeHttp);
  const origin = process.getBuiltinModule('_http_server') as { Server: unknown };
  if (origin.Server === Server) origin.Server = nodeHttp.Server;
  // Not enumerable: a list of the module's members is the same as in Node.
  const value = packageVersion();
  Object.defineProperty(target, 'millraceVersion', { value, writable: true, configurable: true });
  syncBuiltinESMExports();
}

let isDone = false;

interface ServerModule {
  Server: new (...args: unknown[]) => http.Server;
  createServer(options?: unknown, listener?: unknown): http.Server;
}

/** Lets the options of this module's servers contain settings of the stack, both with `createServer` and with `Server`. */
function applyOptionsIn(module: object): void {
  const target = module as ServerModule;
  const { createServer } = target;
  target.createServer = function (options, listener) {
    const server = createServer.call(this, options, listener);
    applyOptions(server, options);
    return server;
  };
  Object.defineProperty(target.createServer, 'name', { value: 'createServer' });
  // A proxy, so that `instanceof`, `extends` and properties that others set on the class work as before.
  target.Server = new Proxy(target.Server, {
    construct(Server, args, newTarget) {
      const server: http.Server = Reflect.construct(Server, args, newTarget);
      applyOptions(server, args[0]);
      return server;
    },
    // Without `new` it returns a server, or turns its receiver into one, as function constructors expect.
    apply(Server, receiver, args) {
      const server: http.Server | undefined = Reflect.apply(Server as never, receiver, args);
      applyOptions(server ?? receiver, args[0]);
      return server;
    },
  });
  Object.defineProperty(target.Server.prototype, 'constructor', { value: target.Server });
}

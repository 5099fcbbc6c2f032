import type http from 'node:http';
import { installCacheDuration } from '../cache/cache-duration.js';
import { ServerCache } from '../cache/server-cache.js';
import { findHttp2Prototype, isSecureHttp2 } from '../http2/prototypes.js';
import { getSessionOptions } from '../http2/session-options.js';
import { addProperty } from '../node/added-properties.js';
import type { HttpServer } from '../node/node-internals.js';
import { replaceMethod } from '../node/replace-method.js';
import { isOff } from '../reactor/disabled.js';
import { handleEvents } from '../reactor/dispatch.js';
import { installPipe } from '../request/fast-pipe.js';
import { installHead } from '../request/request-head.js';
import { installStoreHeader } from '../response/header-writer.js';
import { installResponse } from '../response/response.js';
import { followClosing } from '../server/closing.js';
import { connectionEvents } from '../server/connection-events.js';
import { servesNodeHttp2 } from '../server/http2.js';
import { getStats } from '../server/inspection.js';
import { installLimits } from '../server/limits.js';
import { getNativeServer } from '../server/native-server.js';
import {
  createAlreadyListeningError,
  isJoining,
  isPrefix,
  listenToPrefix,
} from '../sharing/listen-prefix.js';
import { installSecureContext } from '../tls/secure-context.js';
import { isSecure, SecureServer } from '../tls/secure-server.js';
import { listen } from './listen.js';
import { findUnsupportedFeature } from './unsupported-features.js';

/** Marks a prototype whose servers are on the stack. */
const kInstalled = Symbol('millrace.installed');
/** Marks a prototype whose servers know URL prefixes. */
const kPrefixes = Symbol('millrace.prefixes');

type ServerMethod = (this: HttpServer, ...args: unknown[]) => unknown;

/** Puts the stack under every server of this prototype, once; turned off, only what applications may ask it for. */
export function installStack(prototype: object): void {
  if (kInstalled in prototype) return;
  Object.defineProperty(prototype, kInstalled, { value: true });
  installProperties(prototype);
  installPrefixes(prototype);
  if (isOff) return;
  handleEvents(connectionEvents);
  installCacheDuration();
  installHead();
  installResponse();
  installPipe();
  installStoreHeader();
  followListening(prototype);
  followClosing(prototype);
}

/** Adds what applications may ask the stack for. */
function installProperties(prototype: object): void {
  installLimits(prototype, (server) => getNativeServer(server)?.configure());
  addStats(prototype);
  const none = new ServerCache(() => -1);
  addProperty(prototype, 'cache', (server: object) => getNativeServer(server)?.cache ?? none);
}

function addStats(prototype: object): void {
  Object.defineProperty(prototype, 'stats', {
    value: function stats(this: http.Server) {
      return getStats(this);
    },
    writable: true,
    configurable: true,
  });
}

function followListening(prototype: object): void {
  replaceMethod<ServerMethod>(
    prototype,
    '_listen2',
    (original) =>
      function (...args) {
        if (kInstalled in this || installHttp2(this)) listen(this, args, original);
        else original.apply(this, args);
      },
  );
}

/**
 * Lets servers of this prototype listen to URL prefixes; turned off, they say why they cannot: Node's own code would take one for
 * the path of a Unix socket.
 */
export function installPrefixes(prototype: object): void {
  if (kPrefixes in prototype) return;
  Object.defineProperty(prototype, kPrefixes, { value: true });
  replaceMethod<ServerMethod>(
    prototype,
    'listen',
    (original) =>
      function (...args) {
        if (!(kPrefixes in this)) return original.apply(this, args);
        if (isJoining(this)) throw createAlreadyListeningError();
        if (!isPrefix(args)) return original.apply(this, args);
        listenToPrefix(this, args, isSecure(this), findUnsupportedFeature(this));
        return this;
      },
  );
}

let takesHttp2 = false;

/** Lets servers of `node:http2` be served natively that listen from now on, if `MILLRACE_HTTP2` says so. */
export function installHttp2Servers(): void {
  takesHttp2 = servesNodeHttp2;
}

/**
 * Puts the stack under the servers of `node:http2` of this one's prototype, which begins to listen; `false`: it is none, or Node's
 * own code serves them.
 */
function installHttp2(server: HttpServer): boolean {
  if (!takesHttp2 || getSessionOptions(server) === undefined) return false;
  const prototype = findHttp2Prototype(server);
  if (prototype === null) return false;
  Object.defineProperty(prototype, kInstalled, { value: true });
  addStats(prototype);
  followClosing(prototype);
  if (isSecureHttp2(server)) followContexts(prototype);
  return true;
}

/** Puts the stack under every `https.Server` of this prototype. */
export function installSecureStack(prototype: object): void {
  installStack(prototype);
  if (isOff) return;
  installSecureContext();
  followContexts(prototype);
}

/** What changes the contexts of handshakes. */
function followContexts(prototype: object): void {
  for (const name of ['setTicketKeys', 'setSecureContext', 'addContext']) {
    replaceMethod<ServerMethod>(
      prototype,
      name,
      (original) =>
        function (...args) {
          const result = original.apply(this, args);
          const nativeServer = getNativeServer(this);
          if (nativeServer instanceof SecureServer) nativeServer.forgetContexts();
          return result;
        },
    );
  }
}

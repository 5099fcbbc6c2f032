import type http from 'node:http';
import type https from 'node:https';
import { MAJOR } from '../node/node-version.js';
import { findHttpsPrototype, isLoaded, nodeHttps } from '../tls/node-tls.js';

/** What is done as an application begins to use `node:https`. */
export interface HttpsUse {
  /** `node:tls` is loaded, before it can have been used to serve. */
  tlsLoaded(): void;
  /**
   * The first server is about to be created, which has this prototype of Node's; or the module was there before, is given, and
   * servers are not announced.
   */
  httpsLoaded(prototype: object, module?: typeof https): void;
  /** A server is being created. */
  serverCreated(server: http.Server, options: unknown): void;
}

type StoreOptions = (this: http.Server, options: object) => void;

/** Versions whose `node:https` takes this function from here when it is loaded, and calls it first in a server's constructor. */
const TAKES_FUNCTION = MAJOR <= 26;
const serverModule = process.getBuiltinModule('_http_server') as {
  storeHTTPOptions?: StoreOptions;
  setupConnectionsTracking?: unknown;
};

/** Follows the use of `node:https`, without loading it. */
export function followHttps({ tlsLoaded, httpsLoaded, serverCreated }: HttpsUse): void {
  const { storeHTTPOptions } = serverModule;
  if (isLoaded('https') || !TAKES_FUNCTION || typeof storeHTTPOptions !== 'function') {
    const { prototype } = nodeHttps().Server;
    httpsLoaded(findHttpsPrototype(prototype) ?? prototype, nodeHttps());
    return;
  }
  let isFirst = true;
  const following: StoreOptions = function (options) {
    storeHTTPOptions.call(this, options);
    const prototype = findHttpsPrototype(Object.getPrototypeOf(this));
    // HTTP/2 uses the function, too; and the application may have frozen the prototype.
    if (prototype === undefined || !Object.isExtensible(prototype)) return;
    if (isFirst) httpsLoaded(prototype);
    isFirst = false;
    serverCreated(this as unknown as http.Server, options);
  };
  Object.defineProperty(following, 'name', { value: 'storeHTTPOptions' });
  const set = (value: unknown) => {
    // Does nothing where the application has frozen the module.
    Reflect.defineProperty(serverModule, 'storeHTTPOptions', { value, writable: true });
  };
  // `node:https` reads it when it has loaded `node:tls`. From then on it is the property that it was.
  const get = () => {
    if (isLoaded('tls')) {
      set(following);
      tlsLoaded();
    }
    return following;
  };
  Object.defineProperty(serverModule, 'storeHTTPOptions', { get, set });
  get();
}

/**
 * Calls back when `node:tls` is loaded by `node:http2`, which before Node 24 does not take the function above, but
 * `setupConnectionsTracking`.
 */
export function followHttp2(tlsLoaded: () => void): void {
  const descriptor = Object.getOwnPropertyDescriptor(serverModule, 'setupConnectionsTracking');
  if (MAJOR >= 24 || descriptor === undefined) return;
  const { value } = descriptor;
  const set = (present: unknown) => {
    Reflect.defineProperty(serverModule, 'setupConnectionsTracking', {
      ...descriptor,
      value: present,
    });
  };
  const get = () => {
    if (isLoaded('tls')) {
      set(value);
      tlsLoaded();
    }
    return value;
  };
  Object.defineProperty(serverModule, 'setupConnectionsTracking', {
    get,
    set,
    enumerable: true,
    configurable: true,
  });
  get();
}

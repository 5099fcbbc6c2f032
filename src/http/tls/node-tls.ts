import type crypto from 'node:crypto';
import type https from 'node:https';
import net from 'node:net';
import type tls from 'node:tls';
import { nodeHttp } from '../node/node-http.js';

/*
 * Node's own modules of TLS. Not imported: they take longer to load than all of the stack, and an application that serves plain
 * HTTP may never use them.
 */
export function nodeCrypto(): typeof crypto {
  return process.getBuiltinModule('node:crypto');
}
export function nodeTls(): typeof tls {
  return process.getBuiltinModule('node:tls');
}
export function nodeHttps(): typeof https {
  return process.getBuiltinModule('node:https');
}

// In the sandbox of a test runner `process` is a copy, as old as the sandbox.
const { moduleLoadList } = process.getBuiltinModule('node:process') as {
  moduleLoadList?: string[];
};
const loaded = new Set<string>();

/** Whether a module of Node's is loaded, by whomever; `true` if Node does not tell. */
export function isLoaded(name: 'https' | 'tls'): boolean {
  const isFound = loaded.has(name) || (moduleLoadList?.includes(`NativeModule ${name}`) ?? true);
  if (isFound) loaded.add(name);
  return isFound;
}

const ofNet = net.Server.prototype;
const ofHttp = nodeHttp.Server.prototype;

/**
 * Node's own `https.Server.prototype`, from this prototype on; `undefined`: there is none. It is found by its place above
 * `tls.Server.prototype`, as the application may have put a class of its own in the place of `https.Server`.
 */
export function findHttpsPrototype(from: object): object | undefined {
  for (let prototype = from; prototype !== null; ) {
    const next = Object.getPrototypeOf(prototype);
    const isAboveTls = next !== null && next !== ofHttp && Object.getPrototypeOf(next) === ofNet;
    // HTTP/2 has one in the same place.
    if (isAboveTls && Object.hasOwn(prototype, 'closeAllConnections')) return prototype;
    prototype = next;
  }
  return undefined;
}

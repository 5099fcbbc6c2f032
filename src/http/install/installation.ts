import type http from 'node:http';
import { nodeHttp } from './node-http.js';
import * as options from './options.js';
import * as listen from './take-over.js';

/** What this package is asked for that holds for the whole thread. */
interface Installation {
  install(prototype: object): void;
  installPrefixes(prototype: object): void;
  installSecure(prototype: object): void;
  takeOptions(server: http.Server, options: unknown): void;
}

const kInstallation = Symbol.for('millrace.http.1');

/**
 * A thread has one event loop, one `node:http`, and so one stack: that of the module that was asked first. Where the package is
 * loaded once more (a second version, the registry of a test runner), the later modules hand on what they are asked for.
 */
function ofThread(): Installation {
  // Sandboxes have global objects of their own, and the same built-in modules.
  const { prototype } = nodeHttp.Server as unknown as {
    prototype: { [kInstallation]?: Installation };
  };
  let first = prototype[kInstallation];
  if (first === undefined) {
    const { install, installPrefixes, installSecure } = listen;
    first = { install, installPrefixes, installSecure, takeOptions: options.takeOptions };
    Object.defineProperty(prototype, kInstallation, { value: first });
  }
  return first;
}

/** Puts the stack under every server of this prototype, once. */
export function install(prototype: object): void {
  ofThread().install(prototype);
}

/** The same for `https.Server`. */
export function installSecure(prototype: object): void {
  ofThread().installSecure(prototype);
}

/** Lets servers of this prototype listen to URL prefixes, or say why they cannot. */
export function installPrefixes(prototype: object): void {
  ofThread().installPrefixes(prototype);
}

/** Takes what among a server's options is the stack's. */
export function takeOptions(server: http.Server, given: unknown): void {
  ofThread().takeOptions(server, given);
}

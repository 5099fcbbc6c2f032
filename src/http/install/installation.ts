import type http from 'node:http';
import { nodeHttp } from './node-http.js';
import * as options from './options.js';
import * as listen from './take-over.js';

/** What this package is asked for that holds for the whole thread. */
interface Installation {
  installStack(prototype: object): void;
  installPrefixes(prototype: object): void;
  installSecureStack(prototype: object): void;
  applyOptions(server: http.Server, options: unknown): void;
}

const kInstallation = Symbol.for('millrace.http.1');

/**
 * A thread has one event loop, one `node:http`, and so one stack: that of the module that was asked first. Where the package is
 * loaded once more (a second version, the registry of a test runner), the later modules hand on what they are asked for.
 */
function getInstallation(): Installation {
  // Sandboxes have global objects of their own, and the same built-in modules.
  const { prototype } = nodeHttp.Server as unknown as {
    prototype: { [kInstallation]?: Installation };
  };
  let first = prototype[kInstallation];
  if (first === undefined) {
    const { installStack, installPrefixes, installSecureStack } = listen;
    first = {
      installStack,
      installPrefixes,
      installSecureStack,
      applyOptions: options.applyOptions,
    };
    Object.defineProperty(prototype, kInstallation, { value: first });
  }
  return first;
}

/** Puts the stack under every server of this prototype, once. */
export function installStack(prototype: object): void {
  getInstallation().installStack(prototype);
}

/** The same for `https.Server`. */
export function installSecureStack(prototype: object): void {
  getInstallation().installSecureStack(prototype);
}

/** Lets servers of this prototype listen to URL prefixes, or say why they cannot. */
export function installPrefixes(prototype: object): void {
  getInstallation().installPrefixes(prototype);
}

/** Takes what among a server's options is the stack's. */
export function applyOptions(server: http.Server, options: unknown): void {
  getInstallation().applyOptions(server, options);
}

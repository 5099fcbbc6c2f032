import type http from 'node:http';
import type https from 'node:https';
import { nodeHttp } from '../node/node-http.js';
import * as inspection from '../server/inspection.js';
import type { StackStats } from '../server/stats.js';
import * as contexts from '../tls/secure-context.js';
import * as options from './options.js';
import * as methods from './server-methods.js';

/** Functions of this package that apply to the whole thread. */
interface Installation {
  installStack(prototype: object): void;
  installPrefixes(prototype: object): void;
  installSecureStack(prototype: object): void;
  installSecureContext(): void;
  /** Earlier versions have none. */
  installHttp2Servers?(): void;
  applyOptions(server: http.Server, options: unknown): void;
  getStats(server: object): StackStats | null;
  isNative(server: object): boolean;
}

const kInstallation = Symbol.for('millrace.http.1');

/**
 * A thread has one event loop, one `node:http`, and so one stack: that of the module that was called first. If the package is
 * loaded again (a second version, the module registry of a test runner), the later modules pass their calls on.
 */
function getInstallation(): Installation {
  // Sandboxes have global objects of their own, and the same built-in modules.
  const { prototype } = nodeHttp.Server as unknown as {
    prototype: { [kInstallation]?: Installation };
  };
  let first = prototype[kInstallation];
  if (first === undefined) {
    const { installStack, installPrefixes, installSecureStack, installHttp2Servers } = methods;
    const { installSecureContext } = contexts;
    first = {
      installStack,
      installPrefixes,
      installSecureStack,
      installSecureContext,
      installHttp2Servers,
      applyOptions: options.applyOptions,
      ...inspection,
    };
    Object.defineProperty(prototype, kInstallation, { value: first });
  }
  return first;
}

/** Installs the stack for every server of this prototype, once. */
export function installStack(prototype: object): void {
  getInstallation().installStack(prototype);
}

/** The same for `https.Server`. */
export function installSecureStack(prototype: object): void {
  getInstallation().installSecureStack(prototype);
}

/** Lets `tls.createSecureContext` remember what the stack needs of a context, once. */
export function installSecureContext(): void {
  getInstallation().installSecureContext();
}

/** Lets servers of `node:http2` be served natively. */
export function installHttp2Servers(): void {
  getInstallation().installHttp2Servers?.();
}

/** Lets servers of this prototype listen to URL prefixes, or say why they cannot. */
export function installPrefixes(prototype: object): void {
  getInstallation().installPrefixes(prototype);
}

/** Applies the options of the stack among a server's options. */
export function applyOptions(server: http.Server, options: unknown): void {
  getInstallation().applyOptions(server, options);
}

/** Returns the counters of a server since it first listened; `null` before that, and if it does not listen natively. */
export function getStats(server: http.Server | https.Server): StackStats | null {
  return getInstallation().getStats(server);
}

/** Returns whether the native stack serves a server; `false` before it listens and after it is closed. */
export function isNative(server: http.Server | https.Server): boolean {
  return getInstallation().isNative(server);
}

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { patchMethod } from '../patch-method.js';
import { nodeHttp } from './node-http.js';

/**
 * Connections that were begun for a request, by the request. It does not know them until they can carry it: behind a
 * proxy that is once the tunnel is open.
 */
const connectionsByRequest = new WeakMap<object, readonly Socket[]>();
/** The connections begun by the function that is observed; `null`: none is. */
let begun: readonly Socket[] | null = null;
const NONE: readonly Socket[] = [];

/** An agent built on the package agent-base, as those for proxies are. */
interface ProxyAgent {
  connect(request: ClientRequest, ...more: unknown[]): unknown;
}

const observedClasses = new WeakSet<object>();

/** Called with each connection that is begun. */
export function addConnection(socket: Socket): void {
  if (begun !== null) begun = [...begun, socket];
}

/** Calls a function, and records the connections that it begins for a request, or for the one that it returns. */
export function collectConnections<Result>(begin: () => Result, request?: object): Result {
  const before = begun;
  begun = NONE;
  try {
    const result = begin();
    if (begun.length > 0) record(request ?? Object(result), begun);
    return result;
  } finally {
    begun = before;
  }
}

function record(request: object, sockets: readonly Socket[]): void {
  connectionsByRequest.set(request, [...(connectionsByRequest.get(request) ?? []), ...sockets]);
}

/** Observes the connections that agents begin for queued requests. */
export function patchAgents(): void {
  const { prototype } = nodeHttp.Agent as unknown as {
    prototype: { createSocket(request: ClientRequest, ...more: unknown[]): unknown };
  };
  patchMethod(prototype, 'createSocket', (original) => {
    return function createSocket(this: unknown, ...args) {
      return collectConnections(() => Reflect.apply(original, this, args), args[0]);
    };
  });
}

/** Observes the connections of an agent that begins them in a later turn than its request, if it is one. */
export function observeAgent(agent: unknown): void {
  if (typeof (agent as Partial<ProxyAgent> | null | undefined)?.connect !== 'function') return;
  let holder = agent as object;
  while (!Object.hasOwn(holder, 'connect')) holder = Object.getPrototypeOf(holder);
  if (observedClasses.has(holder)) return;
  observedClasses.add(holder);
  patchMethod(holder as ProxyAgent, 'connect', (original) => {
    return function connect(this: unknown, ...args) {
      const result = collectConnections(() => Reflect.apply(original, this, args), args[0]);
      // The agent may choose another one, as proxy-agent does.
      Promise.resolve(result).then(observeAgent, () => {});
      return result;
    };
  });
}

/** Ends the connections of a request that none of them carries. */
export function destroyConnections(request: ClientRequest, error: Error): void {
  for (const socket of connectionsByRequest.get(request) ?? []) {
    if (!socket.destroyed) socket.on('error', () => {}).destroy(error);
  }
}

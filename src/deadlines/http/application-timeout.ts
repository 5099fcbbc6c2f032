import type { ClientRequest } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { nodeHttp } from './node-http.js';

/** Fields of a request that Node does not declare. */
interface RequestInternals {
  timeout?: number;
  agent?: { options?: { timeout?: number } } | null;
}

/** Node's own agents, whose idle timeout nobody has set. */
const NODE_AGENTS = new Set<unknown>([nodeHttp.globalAgent, https.globalAgent]);

/**
 * Finds the idle timeout that the application has set for the request, its connection or its agent. Without a
 * listener none of them has an effect.
 */
export function findApplicationTimeout(request: ClientRequest): number | undefined {
  const { timeout, socket, agent }: ClientRequest & RequestInternals = request;
  if (socket?.timeout && hasOwnListener(socket, Boolean(agent))) return socket.timeout;
  if (request.listenerCount('timeout') === 0) return undefined;
  if (timeout) return timeout;
  const agentTimeout = agent?.options?.timeout;
  if (socket?.timeout && (socket.timeout !== agentTimeout || isDestroyedOnTimeout(socket))) {
    return socket.timeout;
  }
  return agentTimeout && !NODE_AGENTS.has(agent) ? agentTimeout : undefined;
}

/**
 * Whether the application, or an agent of its own, listens for the timeout of the socket itself, beside Node: a
 * request with a timeout and an agent have a listener each.
 */
function hasOwnListener(socket: Socket, hasAgent: boolean): boolean {
  const listeners = socket.listeners('timeout');
  const ofRequest = listeners.filter(({ name }) => name === 'emitRequestTimeout').length;
  return listeners.length - ofRequest > (hasAgent ? 1 : 0);
}

/**
 * Whether the timeout destroys the socket, as that of follow-redirects (axios) does; it may equal that of Node's
 * agents.
 */
function isDestroyedOnTimeout(socket: Socket): boolean {
  return socket.listeners('timeout').includes(socket.destroy);
}

import type { ClientRequest, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { nodeHttp } from './node-http.js';

/** Fields of a request that Node does not declare. */
interface RequestInternals {
  timeout?: number;
  res?: IncomingMessage | null;
  agent?: { options?: { timeout?: number } } | null;
  /** Set by follow-redirects. */
  _redirectable?: object;
}

/** Node's own agents, whose idle timeout nobody has set. */
const NODE_AGENTS = new Set<unknown>([nodeHttp.globalAgent, https.globalAgent]);

/**
 * Finds the idle timeout that the application has set for the request, its connection or its agent. Without a
 * listener none of them has an effect.
 */
export function findApplicationTimeout(request: ClientRequest): number | undefined {
  const { timeout, socket, agent, res }: ClientRequest & RequestInternals = request;
  if (socket?.timeout && hasOwnListener(request, socket)) return socket.timeout;
  if (request.listenerCount('timeout') === 0 && !res?.listenerCount('timeout')) return undefined;
  if (timeout) return timeout;
  const agentTimeout = agent?.options?.timeout;
  if (socket?.timeout && (socket.timeout !== agentTimeout || isDestroyedOnTimeout(socket))) {
    return socket.timeout;
  }
  return agentTimeout && !NODE_AGENTS.has(agent) ? agentTimeout : undefined;
}

/** Names of the functions by which Node passes the timeout of a socket on to its request and response. */
const NODE_LISTENERS = ['emitRequestTimeout', 'responseOnTimeout'];

/**
 * Whether the application, or an agent of its own, listens for the timeout of the socket itself. follow-redirects (axios)
 * leaves its listener on a connection, and the agent its idle timeout: they are not those of a later request.
 */
function hasOwnListener(request: ClientRequest & RequestInternals, socket: Socket): boolean {
  const isLeft = request.reusedSocket && request._redirectable === undefined;
  const others = socket
    .listeners('timeout')
    .filter((one) => !NODE_LISTENERS.includes(one.name) && !(isLeft && one === socket.destroy));
  // Node's agents have a listener, too.
  return others.length > (request.agent ? 1 : 0);
}

/**
 * Whether the timeout destroys the socket, as that of follow-redirects (axios) does; it may equal that of Node's
 * agents.
 */
function isDestroyedOnTimeout(socket: Socket): boolean {
  return socket.listeners('timeout').includes(socket.destroy);
}

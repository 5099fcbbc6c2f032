import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** Fields of a request and its agent that Node does not declare. */
interface QueuedRequest {
  agent?: { requests?: Record<string, unknown[] | undefined> } | null;
  onSocket(socket: Socket | null | undefined, error?: Error | null): void;
}

/**
 * Ends a request that has no socket yet. `destroy` alone keeps the error until a socket comes, which may never
 * happen: behind a proxy that does not answer, or in the queue of an agent.
 */
export function cancelQueuedRequest(request: ClientRequest, error: Error): void {
  const waiting = request as unknown as QueuedRequest;
  leaveQueue(waiting);
  request.destroy(error);
  // As if connecting had failed: `error` and `close`, in the next tick.
  waiting.onSocket(null, error);
  waiting.onSocket = releaseLateSocket;
  // A later error is that of a connection that nobody waits for.
  request.once('close', () => request.on('error', ignore));
}

function leaveQueue(request: QueuedRequest): void {
  const queues = request.agent?.requests ?? {};
  for (const [name, queue] of Object.entries(queues)) {
    const index = queue?.indexOf(request) ?? -1;
    if (queue === undefined || index < 0) continue;
    queue.splice(index, 1);
    // An agent takes an empty queue for one with a request.
    if (queue.length === 0) delete queues[name];
    return;
  }
}

/** Returns a socket that comes too late to its agent, which may have another request for it. */
function releaseLateSocket(this: QueuedRequest, socket: Socket | null | undefined): void {
  if (!socket) return;
  socket.on('error', ignore);
  process.nextTick(() => {
    if (this.agent && !socket.destroyed) socket.emit('free');
    else socket.destroy();
    if (!socket.destroyed) socket.off('error', ignore);
  });
}

function ignore(): void {}

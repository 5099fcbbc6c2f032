import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** What Node has on a request and its agent, and does not declare. */
interface Internals {
  agent?: { requests?: Record<string, unknown[] | undefined> } | null;
  onSocket(socket: Socket | null | undefined, error?: Error | null): void;
}

/**
 * Ends a request that has no socket yet. `destroy` alone keeps the error until one comes, which may be never: behind a
 * proxy that does not answer, or in the queue of an agent.
 */
export function giveUp(request: ClientRequest, error: Error): void {
  const waiting = request as unknown as Internals;
  leaveQueue(waiting);
  request.destroy(error);
  // As if connecting had failed: 'error' and 'close', in the next tick.
  waiting.onSocket(null, error);
  waiting.onSocket = onLateSocket;
  // An error that comes yet is of a connection that nobody waits for.
  request.once('close', () => request.on('error', ignore));
}

function leaveQueue(request: Internals): void {
  const queues = request.agent?.requests ?? {};
  for (const [name, queue] of Object.entries(queues)) {
    const place = queue?.indexOf(request) ?? -1;
    if (queue === undefined || place < 0) continue;
    queue.splice(place, 1);
    // An empty one would be taken for one with a request.
    if (queue.length === 0) delete queues[name];
    return;
  }
}

/** The agent may have another request for it. */
function onLateSocket(this: Internals, socket: Socket | null | undefined): void {
  if (!socket) return;
  socket.on('error', ignore);
  process.nextTick(() => {
    if (this.agent && !socket.destroyed) socket.emit('free');
    else socket.destroy();
    if (!socket.destroyed) socket.off('error', ignore);
  });
}

function ignore(): void {}

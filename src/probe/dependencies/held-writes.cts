import { AsyncResource } from 'node:async_hooks';
import type { Socket } from 'node:net';
import { timers } from '../runtime/clock.cjs';

type Callback = (error?: Error | null) => void;

/** A write that is held back. */
interface HeldWrite {
  timer: NodeJS.Timeout;
  release(): void;
}

/**
 * Holds back writes for a time. A stream passes on one write at a time, so that later ones of the same socket, and its
 * end, wait behind it.
 */
export class HeldWrites {
  readonly #held = new Map<Socket, HeldWrite>();

  /**
   * Passes a write on after a delay, or reports it as failed if the socket is destroyed before.
   *
   * @param done the callback of the write
   */
  hold(socket: Socket, ms: number, pass: () => void, done: Callback): void {
    const fail = () => {
      if (!this.#forget(socket)) return;
      const error = new Error('Cannot call write after a stream was destroyed');
      done(Object.assign(error, { code: 'ERR_STREAM_DESTROYED' }));
    };
    // Whoever releases it, it happens in the context of the write.
    const release = AsyncResource.bind(() => {
      if (!this.#forget(socket)) return;
      socket.removeListener('close', fail);
      pass();
    });
    this.#held.set(socket, { timer: timers.setTimeout(release, ms), release });
    socket.once('close', fail);
  }

  /** Passes all writes on. */
  releaseAll(): void {
    for (const { release } of [...this.#held.values()]) release();
  }

  #forget(socket: Socket): boolean {
    clearTimeout(this.#held.get(socket)?.timer);
    return this.#held.delete(socket);
  }
}

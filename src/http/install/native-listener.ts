import { createHandle, type ListeningHandle } from '../connection/handle/handle.js';
import { reference } from '../reactor/loop-reference.js';
import { native } from '../reactor/native.js';
import { unshare } from '../server/closing.js';
import type { NativeServer } from '../server/native-server.js';

/** The reactor's side of a handle. */
const kListener = Symbol('millrace.listener');

interface Prepared {
  [kListener]?: NativeListener;
}

/** Returns the server whose connections the reactor accepts in the place of this handle. */
export function getListeningServer(handle: object): NativeServer | null {
  return (handle as Prepared)[kListener]?.server ?? null;
}

/**
 * Accepts in the place of a handle, from a duplicate of its descriptor. The handle stays Node's own: whoever has it reads its
 * address, sends it to another process or closes it.
 */
export class NativeListener {
  server: NativeServer | null = null;
  private id = -1;
  private isReferenced: boolean;
  private readonly handle: ListeningHandle;

  private constructor(handle: ListeningHandle) {
    this.handle = handle;
    this.isReferenced = handle.hasRef?.() ?? true;
  }

  /** Returns the listener of a handle. Node has not begun to accept from the handle. */
  static of(handle: ListeningHandle): NativeListener {
    const prepared = handle as Prepared;
    prepared[kListener] ??= NativeListener.create(handle);
    return prepared[kListener];
  }

  private static create(handle: ListeningHandle): NativeListener {
    const listener = new NativeListener(handle);
    const { close, ref, unref } = handle;
    Object.assign(handle, {
      close(callback?: () => void) {
        listener.close();
        close.call(handle, callback);
      },
      ref() {
        listener.refer(true);
        ref.call(handle);
      },
      unref() {
        listener.refer(false);
        unref.call(handle);
      },
    });
    return listener;
  }

  /** Accepts for a server from now on. Throws the system's error if there is no descriptor for that. */
  open(server: NativeServer): void {
    const id = native.stackListen(server.id, this.handle.fd);
    this.close();
    this.id = id;
    this.server = server;
    if (this.isReferenced) reference(1);
  }

  /** Stops accepting. */
  close(): void {
    if (this.server === null) return;
    native.stackCloseListener(this.id);
    unshare(this.server);
    this.server = null;
    if (this.isReferenced) reference(-1);
  }

  private refer(isReferenced: boolean): void {
    if (this.isReferenced === isReferenced) return;
    this.isReferenced = isReferenced;
    if (this.server !== null) reference(isReferenced ? 1 : -1);
  }
}

/**
 * Makes the socket of a handle listen, as Node would, without the loop accepting from it: another handle on the same socket listens.
 * `begin` is called before that handle is closed, which leaves a descriptor. Returns the system's error number, or 0.
 */
export function listenByTwin(handle: ListeningHandle, backlog: number, begin: () => void): number {
  // An address in use is reported when the handle listens.
  const error = handle.getsockname?.({}) ?? 0;
  if (error !== 0) return error;
  const twin = createHandle(null, null, null, native.stackDuplicate(handle.fd));
  if (typeof twin === 'number') return twin;
  try {
    const result = twin.listen(backlog);
    if (result === 0) begin();
    return result;
  } finally {
    // Not among the active handles while it closes.
    twin.unref();
    twin.close();
  }
}

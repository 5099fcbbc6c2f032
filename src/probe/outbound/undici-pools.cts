import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { findSymbol, readSymbol } from '../dependencies/symbol-properties.cjs';
import { ignoreErrors } from '../runtime/clock.cjs';
import type { Calls, Queue } from './calls.cjs';

const CONNECTED = 'undici:client:connected';
/** Maximum number of pools. A process with more creates one per request, and their limits have no effect. */
const MAX_POOLS = 100;

type Keyed = Record<symbol, unknown>;

interface UndiciClient extends EventEmitter {
  close(): unknown;
  destroy(...args: unknown[]): unknown;
}

/** A limited pool of undici. Calls in its queue are not requests yet, so no channel reports them. */
interface UndiciPool {
  holder: Keyed & { closed?: unknown; destroyed?: unknown };
  limitSymbol: symbol;
  original: number;
  clients: UndiciClient[];
  /** Clients removed from the pool, until they are closed. */
  retired: Set<UndiciClient>;
  /** The queue as registered with `Calls`. */
  queue: Queue;
}

/**
 * The limited pools of undici, of any copy from version 5 on. A connection does not refer to its pool. But its client
 * emits an event to the pool when it opens, which reveals the pool.
 */
export class UndiciPools {
  readonly #calls: Calls;
  readonly #pools = new Map<object, UndiciPool>();

  constructor(calls: Calls) {
    this.#calls = calls;
    // From the start: a service may open its connections before it serves.
    subscribe(CONNECTED, this.#onConnected);
  }

  /** Multiplies the limits that the application configured. Returns the limits now in effect. */
  scale(factor: number): number[] {
    this.sweep();
    const pools = [...this.#pools.values()];
    const limits = pools.map((pool) => {
      const scaled = Math.max(1, Math.round(pool.original * factor));
      pool.holder[pool.limitSymbol] = scaled;
      return scaled;
    });
    for (const [index, pool] of pools.entries()) {
      for (const client of pool.clients.splice(limits[index] ?? 0)) retire(client, pool);
    }
    return limits;
  }

  /** Removes closed pools: agents create new ones. */
  sweep(): void {
    for (const [holder, { holder: pool, queue }] of this.#pools) {
      if (!pool.closed && !pool.destroyed) continue;
      this.#pools.delete(holder);
      this.#calls.removeQueue(queue);
    }
  }

  /** Undoes all changes. */
  restore(): void {
    unsubscribe(CONNECTED, this.#onConnected);
    this.scale(1);
    this.#pools.clear();
  }

  readonly #onConnected = ignoreErrors((message: unknown) => {
    const { socket } = message as { socket?: object };
    const client = socket && readSymbol(socket, 'client');
    if (!(client instanceof EventEmitter) || Object.hasOwn(client, 'emit')) return;
    if (this.#isKnown(client)) return;
    // The client emits its event right after this; then the method is restored.
    client.emit = (name: string | symbol, ...args: unknown[]) => {
      Reflect.deleteProperty(client, 'emit');
      return captureEmitters(ignoreErrors(this.#add), () => client.emit(name, ...args));
    };
  });

  #isKnown(client: EventEmitter): boolean {
    const pools = [...this.#pools.values()];
    return pools.some(({ clients }) => clients.includes(client as UndiciClient));
  }

  readonly #add = (holder: object): void => {
    if (this.#pools.has(holder) || this.#pools.size >= MAX_POOLS) return;
    const [limitSymbol, queued] = [findSymbol(holder, 'connections'), findSymbol(holder, 'queued')];
    const [clients, url] = [readSymbol(holder, 'clients'), readSymbol(holder, 'url')];
    if (!limitSymbol || !queued || !Array.isArray(clients) || !(url instanceof URL)) return;
    const keyed = holder as Keyed;
    const original = keyed[limitSymbol];
    if (typeof original !== 'number' || !Number.isFinite(original) || original < 1) return;
    const queue = { origin: url.origin, maxSockets: original, length: () => Number(keyed[queued]) };
    const retired = new Set<UndiciClient>();
    this.#pools.set(holder, { holder: keyed, limitSymbol, original, clients, retired, queue });
    this.#calls.addQueue(queue);
  };
}

/** Calls the function, and passes on every emitter that emits an event during the call. */
function captureEmitters(onEmit: (emitter: object) => void, work: () => boolean): boolean {
  const { emit } = EventEmitter.prototype;
  const patchedEmit: typeof emit = function (this: EventEmitter, ...event) {
    if (isCapturing) onEmit(this);
    return Reflect.apply(emit, this, event);
  };
  let isCapturing = true;
  EventEmitter.prototype.emit = patchedEmit;
  try {
    return work();
  } finally {
    isCapturing = false;
    // Code that has wrapped it meanwhile keeps calling it.
    if (EventEmitter.prototype.emit === patchedEmit) EventEmitter.prototype.emit = emit;
  }
}

/**
 * Removes a client from its pool: it takes nothing more from the pool's queue, and closes when its requests have ended.
 * If the pool is destroyed meanwhile, the client is as well.
 */
function retire(client: UndiciClient, { holder, retired }: UndiciPool): void {
  const own = readSymbol(holder, 'onDrain');
  const drain = client
    .listeners('drain')
    .find((listener) => listener === own || listener.name === 'bound [onDrain]');
  if (drain) client.off('drain', drain as () => void);
  if (retired.size === 0) destroyWith(holder, retired);
  retired.add(client);
  const onClosed = () => {
    retired.delete(client);
    if (retired.size === 0) Reflect.deleteProperty(holder, 'destroy');
  };
  Promise.resolve(tryCall(() => client.close())).then(onClosed, onClosed);
}

/** Destroys removed clients together with the pool, until the pool's own `destroy` is restored. */
function destroyWith(holder: Keyed, retired: Set<UndiciClient>): void {
  if (Object.hasOwn(holder, 'destroy')) return;
  const pool = holder as Keyed & Pick<UndiciClient, 'destroy'>;
  const { destroy } = pool;
  pool.destroy = (...args) => {
    for (const client of retired) tryCall(() => client.destroy());
    return destroy.apply(pool, args);
  };
}

function tryCall(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return undefined;
  }
}

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { ignoreErrors } from '../runtime/clock.cjs';
import type { Calls, Queue } from './calls.cjs';

const CONNECTED = 'undici:client:connected';
/** Where there are more, they are made per request, and their bounds bound nothing. */
const MAX_POOLS = 100;

type Keyed = Record<symbol, unknown>;

interface UndiciClient extends EventEmitter {
  close(): unknown;
  destroy(...args: unknown[]): unknown;
}

/** A bounded pool of undici: what waits in its queue is no request yet, and no channel tells of it. */
interface UndiciPool {
  holder: Keyed & { closed?: unknown; destroyed?: unknown };
  limitSymbol: symbol;
  original: number;
  clients: UndiciClient[];
  /** Those that have left it, until they are closed. */
  retired: Set<UndiciClient>;
  /** The queue as it is told to `Calls`. */
  queue: Queue;
}

/**
 * The bounded pools of undici, of any copy from version 5 on. A connection does not say whose it is; but its client tells
 * its pool when it is open, and who is told can be heard.
 */
export class UndiciPools {
  readonly #calls: Calls;
  readonly #pools = new Map<object, UndiciPool>();

  constructor(calls: Calls) {
    this.#calls = calls;
    // From the start on: a service may open its connections before it serves.
    subscribe(CONNECTED, this.#onConnected);
  }

  /** Multiplies the bounds as the application set them, and returns those now in force. */
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

  /** Lets go of the pools that are no more: agents make new ones. */
  sweep(): void {
    for (const [holder, { holder: pool, queue }] of this.#pools) {
      if (!pool.closed && !pool.destroyed) continue;
      this.#pools.delete(holder);
      this.#calls.removeQueue(queue);
    }
  }

  /** Leaves everything as it was. */
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
    // Right after this it tells: once it is heard, nothing is different any more.
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

/** Calls the function, and tells of all that emit something meanwhile. */
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
    // What somebody else has put over it keeps calling it.
    if (EventEmitter.prototype.emit === patchedEmit) EventEmitter.prototype.emit = emit;
  }
}

/**
 * Takes a client out of its pool: it gets nothing more of the pool's queue, and closes when its requests have ended. Who
 * destroys the pool meanwhile destroys it, too.
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

/** Lets those be destroyed with the pool, until `destroy` of its own is taken away again. */
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

/** What undici keeps under symbols, which have the same names in each of its copies. */
function findSymbol(holder: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(holder).find(({ description }) => description === name);
}

function readSymbol(holder: object, name: string): unknown {
  const symbol = findSymbol(holder, name);
  return symbol && (holder as Keyed)[symbol];
}

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { quiet } from '../runtime/clock.cjs';
import type { Calls, Queue } from './calls.cjs';

const CONNECTED = 'undici:client:connected';
/** Where there are more, they are made per request, and their bounds bound nothing. */
const MOST_POOLS = 100;

type Keyed = Record<symbol, unknown>;

interface Client extends EventEmitter {
  close(): unknown;
  destroy(...args: unknown[]): unknown;
}

/** A bounded pool of undici: what waits in its queue is no request yet, and no channel tells of it. */
interface Pool {
  holder: Keyed & { closed?: unknown; destroyed?: unknown };
  bound: symbol;
  original: number;
  clients: Client[];
  /** Those that have left it, until they are closed. */
  retired: Set<Client>;
  /** The queue as it is told to `Calls`. */
  queue: Queue;
}

/**
 * The bounded pools of undici, of any copy from version 5 on. A connection does not say whose it is; but its client tells
 * its pool when it is open, and who is told can be heard.
 */
export class UndiciPools {
  readonly #calls: Calls;
  readonly #pools = new Map<object, Pool>();

  constructor(calls: Calls) {
    this.#calls = calls;
    // From the start on: a service may open its connections before it serves.
    subscribe(CONNECTED, this.#onConnected);
  }

  /** Multiplies the bounds as the application set them, and returns those now in force. */
  scale(factor: number): number[] {
    this.sweep();
    const pools = [...this.#pools.values()];
    const bounds = pools.map((pool) => {
      const scaled = Math.max(1, Math.round(pool.original * factor));
      pool.holder[pool.bound] = scaled;
      return scaled;
    });
    for (const [index, pool] of pools.entries()) {
      for (const client of pool.clients.splice(bounds[index] ?? 0)) retire(client, pool);
    }
    return bounds;
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

  readonly #onConnected = quiet((message: unknown) => {
    const { socket } = message as { socket?: object };
    const client = socket && ownValue(socket, 'client');
    if (!(client instanceof EventEmitter) || Object.hasOwn(client, 'emit')) return;
    if (this.#isKnown(client)) return;
    // Right after this it tells: once it is heard, nothing is different any more.
    client.emit = (name: string | symbol, ...told: unknown[]) => {
      Reflect.deleteProperty(client, 'emit');
      return hearEmitters(quiet(this.#add), () => client.emit(name, ...told));
    };
  });

  #isKnown(client: EventEmitter): boolean {
    const pools = [...this.#pools.values()];
    return pools.some(({ clients }) => clients.includes(client as Client));
  }

  readonly #add = (holder: object): void => {
    if (this.#pools.has(holder) || this.#pools.size >= MOST_POOLS) return;
    const [bound, queued] = [symbolOf(holder, 'connections'), symbolOf(holder, 'queued')];
    const [clients, url] = [ownValue(holder, 'clients'), ownValue(holder, 'url')];
    if (!bound || !queued || !Array.isArray(clients) || !(url instanceof URL)) return;
    const keyed = holder as Keyed;
    const original = keyed[bound];
    if (typeof original !== 'number' || !Number.isFinite(original) || original < 1) return;
    const queue = { origin: url.origin, maxSockets: original, length: () => Number(keyed[queued]) };
    const retired = new Set<Client>();
    this.#pools.set(holder, { holder: keyed, bound, original, clients, retired, queue });
    this.#calls.addQueue(queue);
  };
}

/** Calls the function, and tells of all that emit something meanwhile. */
function hearEmitters(heard: (emitter: object) => void, work: () => boolean): boolean {
  const { emit } = EventEmitter.prototype;
  const heardFirst: typeof emit = function (this: EventEmitter, ...event) {
    if (isHeard) heard(this);
    return Reflect.apply(emit, this, event);
  };
  let isHeard = true;
  EventEmitter.prototype.emit = heardFirst;
  try {
    return work();
  } finally {
    isHeard = false;
    // What somebody else has put over it keeps calling it.
    if (EventEmitter.prototype.emit === heardFirst) EventEmitter.prototype.emit = emit;
  }
}

/**
 * Takes a client out of its pool: it gets nothing more of the pool's queue, and closes when its requests have ended. Who
 * destroys the pool meanwhile destroys it, too.
 */
function retire(client: Client, { holder, retired }: Pool): void {
  const own = ownValue(holder, 'onDrain');
  const drain = client
    .listeners('drain')
    .find((listener) => listener === own || listener.name === 'bound [onDrain]');
  if (drain) client.off('drain', drain as () => void);
  if (retired.size === 0) destroyWith(holder, retired);
  retired.add(client);
  const gone = () => {
    retired.delete(client);
    if (retired.size === 0) Reflect.deleteProperty(holder, 'destroy');
  };
  Promise.resolve(quietly(() => client.close())).then(gone, gone);
}

/** Lets those be destroyed with the pool, until `destroy` of its own is taken away again. */
function destroyWith(holder: Keyed, retired: Set<Client>): void {
  if (Object.hasOwn(holder, 'destroy')) return;
  const pool = holder as Keyed & Pick<Client, 'destroy'>;
  const { destroy } = pool;
  pool.destroy = (...args) => {
    for (const client of retired) quietly(() => client.destroy());
    return destroy.apply(pool, args);
  };
}

function quietly(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** What undici keeps under symbols, which have the same names in each of its copies. */
function symbolOf(holder: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(holder).find(({ description }) => description === name);
}

function ownValue(holder: object, name: string): unknown {
  const symbol = symbolOf(holder, name);
  return symbol && (holder as Keyed)[symbol];
}

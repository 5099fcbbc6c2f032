import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { Calls } from './calls.cjs';
import { quiet } from './clock.cjs';

const CONNECTED = 'undici:client:connected';
/** Where there are more, they are made per request, and their bounds bound nothing. */
const MOST_POOLS = 100;

type Keyed = Record<symbol, unknown>;

interface Client extends EventEmitter {
  close(): Promise<void>;
}

/** A bounded pool of undici: what waits in its queue is no request yet, and no channel tells of it. */
interface Pool {
  holder: Keyed;
  bound: symbol;
  original: number;
  clients: Client[];
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
    return [...this.#pools.values()].map(({ holder, bound, original, clients }) => {
      const scaled = Math.max(1, Math.round(original * factor));
      holder[bound] = scaled;
      for (const client of clients.splice(scaled)) retire(client);
      return scaled;
    });
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
    // Right after this it tells: once it is heard, nothing is different any more.
    client.emit = (name: string | symbol, ...told: unknown[]) => {
      Reflect.deleteProperty(client, 'emit');
      return hearEmitters(quiet(this.#add), () => client.emit(name, ...told));
    };
  });

  readonly #add = (holder: object): void => {
    if (this.#pools.has(holder) || this.#pools.size >= MOST_POOLS) return;
    const [bound, queued] = [symbolOf(holder, 'connections'), symbolOf(holder, 'queued')];
    const [clients, url] = [ownValue(holder, 'clients'), ownValue(holder, 'url')];
    if (!bound || !queued || !Array.isArray(clients) || !(url instanceof URL)) return;
    const keyed = holder as Keyed;
    const original = keyed[bound];
    if (typeof original !== 'number' || !Number.isFinite(original) || original < 1) return;
    this.#pools.set(holder, { holder: keyed, bound, original, clients });
    this.#calls.addQueue(url.origin, original, () => Number(keyed[queued]));
  };
}

/** Calls the function, and tells of all that emit something meanwhile. */
function hearEmitters(heard: (emitter: object) => void, work: () => boolean): boolean {
  const { emit } = EventEmitter.prototype;
  EventEmitter.prototype.emit = function (...event) {
    heard(this);
    return Reflect.apply(emit, this, event);
  };
  try {
    return work();
  } finally {
    EventEmitter.prototype.emit = emit;
  }
}

/** One that has left its pool gets nothing more of the pool's queue, and closes when its requests have ended. */
function retire(client: Client): void {
  client.removeAllListeners('drain');
  client.close().catch(() => {});
}

/** What undici keeps under symbols, which have the same names in each of its copies. */
function symbolOf(holder: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(holder).find(({ description }) => description === name);
}

function ownValue(holder: object, name: string): unknown {
  const symbol = symbolOf(holder, name);
  return symbol && (holder as Keyed)[symbol];
}

import type { Readable } from 'node:stream';
import type { buildConnector, Dispatcher } from 'undici';
import { clearTimeout, LONGEST_TIMER, setTimeout } from '../outbound/clock.js';
import { EXEMPT, exempted } from '../outbound/exemption.js';
import { discard } from './body.js';
import { RetryBudget } from './budget.js';
import { type Call, callOf } from './call.js';
import { Exchange } from './exchange.js';
import { checkRequest, type RequestOptions, type Settings, targetOf } from './options.js';
import { OriginPool, type PoolCounts } from './origin-pool.js';
import { type Answer, ClientResponse } from './response.js';
import {
  askedWait,
  backoff,
  codeOf,
  isPipelined,
  isRepeatable,
  isTransientError,
  isTransientStatus,
} from './retrying.js';

/** What a client has done so far. */
export interface ClientStats {
  calls: number;
  /** Now: begun, and their answers not yet here to the last byte. */
  inFlight: number;
  /** Calls that ended with an error. */
  failed: number;
  /** Further tries. */
  retries: number;
  /** Further tries that the budget did not allow. */
  retriesRefused: number;
  /** Limits that were met, by tries; `total` by calls. */
  hits: { connect: number; headers: number; idle: number; total: number };
  /** By origin: connections that are open, those of them without a request, requests in the queue and on connections. */
  pools: Record<string, PoolCounts>;
}

type Undici = typeof import('undici');

/** How a try went: one of the two. */
interface Try {
  response: Answer | null;
  error: unknown;
}

const HITS: Record<string, keyof ClientStats['hits']> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'headers',
  UND_ERR_BODY_TIMEOUT: 'idle',
};

/** Makes calls with limits; made by `createClient`. */
export class Client {
  readonly #settings: Settings;
  readonly #budget: RetryBudget;
  readonly #counts: Omit<ClientStats, 'pools'> = {
    calls: 0,
    inFlight: 0,
    failed: 0,
    retries: 0,
    retriesRefused: 0,
    hits: { connect: 0, headers: 0, idle: 0, total: 0 },
  };
  readonly #pools = new Map<string, OriginPool>();
  /** Those without an answer. */
  readonly #exchanges = new Set<Exchange>();
  #connect: buildConnector.connector | null = null;
  #undici: Promise<Undici> | null = null;
  /** Said by `close` or `destroy`: what calls from then on fail with. */
  #closed: 'closed' | 'destroyed' | null = null;
  #closing: Promise<void> | null = null;
  /** Called when the last call in flight has ended. */
  #onIdle = () => {};

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#budget = new RetryBudget(settings.retries.budgetRatio, settings.retries.minPerSecond);
  }

  /** Calls a path of the client's origin, or a URL. */
  async request(target: string | URL, options: RequestOptions = {}): Promise<ClientResponse> {
    const call = await this.#prepare(target, options);
    this.#counts.calls++;
    this.#counts.inFlight++;
    const exchange = new Exchange(
      call.url.hostname,
      call.limits.total,
      options.signal ?? undefined,
      (error, ended) => this.#ended(error, ended),
    );
    if (!exchange.isOver) this.#exchanges.add(exchange);
    this.#budget.earn();
    try {
      return await this.#answer(exchange, call);
    } catch (error) {
      exchange.end(error);
      discard(options.body);
      throw error;
    }
  }

  /** What it has done so far. */
  stats(): ClientStats {
    const { hits, ...counts } = this.#counts;
    const pools: ClientStats['pools'] = {};
    for (const [origin, pool] of this.#pools) pools[origin] = pool.counts();
    return { ...counts, hits: { ...hits }, pools };
  }

  /** Ends when the calls in flight have ended; new ones fail. */
  close(): Promise<void> {
    this.#closed ??= 'closed';
    this.#closing ??= this.#closeWhenIdle();
    return this.#closing;
  }

  /** Ends at once; calls in flight fail with the error. */
  async destroy(error?: Error): Promise<void> {
    this.#closed = 'destroyed';
    const reason = error ?? (await closedError('destroyed'));
    for (const exchange of [...this.#exchanges]) exchange.abort(reason);
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy(reason)));
  }

  /** undici would refuse the further try of a call that pauses before it. */
  async #closeWhenIdle(): Promise<void> {
    if (this.#counts.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    if (this.#closed !== 'closed') return;
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Reads the options of a call; a body that is a stream is destroyed if the call is refused. */
  async #prepare(target: string | URL, options: RequestOptions): Promise<Call> {
    try {
      checkRequest(options);
      const call = callOf(targetOf(target, this.#settings.origin), options, this.#settings);
      if (this.#closed !== null) throw await closedError(this.#closed);
      return call;
    } catch (error) {
      discard(options?.body);
      throw error;
    }
  }

  async #answer(exchange: Exchange, call: Call): Promise<ClientResponse> {
    for (let earlier = 0; ; earlier++) {
      const tried = await this.#try(exchange, call);
      const pause = this.#pauseBefore(tried, earlier, call, exchange);
      if (pause === null) {
        if (tried.response === null) throw tried.error;
        const { response } = tried;
        exchange.answeredBy(response.body, isEmpty(response, call));
        // From now on it ends with its connection, or its body.
        this.#exchanges.delete(exchange);
        return new ClientResponse(response, earlier + 1);
      }
      const emptied = tried.response && empty(tried.response);
      await exchange.pause(pause);
      await emptied;
    }
  }

  async #try(exchange: Exchange, call: Call): Promise<Try> {
    const { url, method, headers, body, limits } = call;
    const { pipelining } = this.#settings;
    const isShared = isPipelined(call);
    try {
      const undici = await exchange.unlessAborted(this.#load());
      const request = {
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: body.open() as Readable | null,
        headersTimeout: limits.headers,
        bodyTimeout: limits.idle,
        opaque: EXEMPT,
        blocking: !isShared,
      };
      const pool = this.#poolOf(url.origin, undici);
      const answer = pool.request(request, isShared ? 1 : pipelining, exchange.signal);
      return { response: await exchange.unlessAborted(answer), error: null };
    } catch (error) {
      if (!exchange.isOver) this.#countHit(error);
      return { response: null, error };
    }
  }

  /** How long to wait before the next try, in milliseconds; `null` if there is none. */
  #pauseBefore(
    { response, error }: Try,
    earlier: number,
    call: Call,
    exchange: Exchange,
  ): number | null {
    const { retries } = this.#settings;
    const failed =
      response === null ? isTransientError(error) : isTransientStatus(response.statusCode);
    if (!failed || exchange.isOver || this.#closed !== null) return null;
    if (earlier >= retries.maxRetries || !isRepeatable(call)) return null;
    const asked = askedWait(response?.headers['retry-after']);
    const pause = Math.max(asked, backoff(retries.baseDelay, earlier));
    if (pause >= exchange.left || pause > LONGEST_TIMER) return null;
    if (!this.#budget.spend()) {
      this.#counts.retriesRefused++;
      return null;
    }
    this.#counts.retries++;
    return pause;
  }

  #ended(error: unknown, exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    this.#counts.inFlight--;
    if (this.#counts.inFlight === 0) this.#onIdle();
    if (error === null) return;
    this.#counts.failed++;
    const { limit } = error as { limit?: unknown };
    if (limit === 'total') this.#counts.hits.total++;
    else if (codeOf(error) === 'UND_ERR_BODY_TIMEOUT') this.#counts.hits.idle++;
  }

  #countHit(error: unknown): void {
    const hit = HITS[codeOf(error)];
    if (hit !== undefined) this.#counts.hits[hit]++;
  }

  /** undici is loaded with the first call. */
  #load(): Promise<Undici> {
    this.#undici ??= import('undici');
    return this.#undici;
  }

  #poolOf(origin: string, { Pool, buildConnector }: Undici): OriginPool {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const { connections, pipelining, limits, secureContext } = this.#settings;
    // One for all: it knows the TLS sessions that can be resumed.
    this.#connect ??= buildConnector({
      timeout: limits.connect,
      ...(secureContext && { secureContext }),
    });
    const connect = this.#connect;
    const pool = new Pool(origin, {
      connections,
      pipelining,
      connect: (options, callback) => exempted(() => connect(options, callback)),
    });
    // Who calls many hosts once does not keep them all.
    const made = new OriginPool(pool, connections * pipelining, () => {
      if (this.#pools.get(origin) === made) this.#pools.delete(origin);
    });
    this.#pools.set(origin, made);
    return made;
  }
}

/** What comes in this time of an answer that is tried again is read, so that its connection can be used again; ms. */
const EMPTIED_WITHIN = 100;

async function empty({ body }: Answer): Promise<void> {
  const timer = setTimeout(() => body.destroy(), EMPTIED_WITHIN);
  await body.dump().catch(() => {});
  clearTimeout(timer);
}

/** undici's own, which it cannot give where it was never asked for anything before. */
async function closedError(how: 'closed' | 'destroyed'): Promise<Error> {
  const { errors } = await import('undici');
  const message = `The client is ${how}; it makes no further calls (millrace/client)`;
  return how === 'closed'
    ? new errors.ClientClosedError(message)
    : new errors.ClientDestroyedError(message);
}

/** There is nothing to be read. */
function isEmpty({ statusCode, headers }: Answer, { method }: Call) {
  return (
    method === 'HEAD' ||
    statusCode === 204 ||
    statusCode === 304 ||
    headers['content-length'] === '0'
  );
}

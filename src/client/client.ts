import { setTimeout as wait } from 'node:timers/promises';
import type { Agent, Dispatcher, Pool } from 'undici';
import { LONGEST_TIMER } from '../deadlines/clock.js';
import { EXEMPT, exempted } from '../deadlines/exempt.js';
import { RetryBudget } from './budget.js';
import { Exchange } from './exchange.js';
import {
  checkRequest,
  type Limits,
  limitsOfCall,
  type RequestOptions,
  type Settings,
  targetOf,
} from './options.js';
import { type Answer, ClientResponse } from './response.js';
import {
  askedWait,
  backoff,
  codeOf,
  isPassing,
  isPassingStatus,
  isRepeatable,
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
  hits: { connect: number; firstByte: number; silence: number; total: number };
  /** By origin: connections that are open, those of them without a request, requests in the queue and on connections. */
  pools: Record<string, { connected: number; free: number; queued: number; running: number }>;
}

/** How a try went: one of the two. */
interface Try {
  response: Answer | null;
  error: unknown;
}

const HITS: Record<string, keyof ClientStats['hits']> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'firstByte',
  UND_ERR_BODY_TIMEOUT: 'silence',
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
    hits: { connect: 0, firstByte: 0, silence: 0, total: 0 },
  };
  #agent: Agent | null = null;
  #loading: Promise<Agent> | null = null;
  /** Said by `close` or `destroy`: what calls from then on fail with. */
  #closed: 'closed' | 'destroyed' | null = null;
  #closing: Promise<void> | null = null;
  /** Called when the last call in flight has ended. */
  #onIdle = () => {};

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#budget = new RetryBudget(settings.retries.share, settings.retries.floor);
  }

  /** Calls a path of the client's origin, or a URL. */
  async request(target: string | URL, options: RequestOptions = {}): Promise<ClientResponse> {
    checkRequest(options);
    const url = targetOf(target, this.#settings.origin);
    const limits = limitsOfCall(options, this.#settings.limits);
    if (this.#closed !== null) throw await closedError(this.#closed);
    const exchange = new Exchange(url.hostname, limits.total, options.signal, (error) =>
      this.#ended(error),
    );
    this.#counts.calls++;
    this.#counts.inFlight++;
    this.#budget.earn();
    try {
      return await this.#answer(exchange, url, options, limits);
    } catch (error) {
      exchange.end(error);
      throw error;
    }
  }

  /** What it has done so far. */
  stats(): ClientStats {
    const { hits, ...counts } = this.#counts;
    const pools: ClientStats['pools'] = {};
    for (const [origin, stats] of Object.entries(this.#agent?.stats ?? {})) {
      const { connected, running, pending } = stats;
      const { free, queued } = stats as Partial<Pool.PoolStats>;
      pools[origin] = {
        connected: Number(connected),
        free: free ?? 0,
        queued: pending + (queued ?? 0),
        running,
      };
    }
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
    await (await this.#loading)?.destroy(error ?? null);
  }

  /** undici would refuse the further try of a call that pauses before it. */
  async #closeWhenIdle(): Promise<void> {
    if (this.#counts.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    const agent = await this.#loading;
    if (this.#closed === 'closed') await agent?.close();
  }

  async #answer(
    exchange: Exchange,
    url: URL,
    options: RequestOptions,
    limits: Limits,
  ): Promise<ClientResponse> {
    for (let earlier = 0; ; earlier++) {
      const tried = await this.#try(exchange, url, options, limits);
      const pause = this.#pauseBefore(tried, earlier, options, exchange);
      if (pause === null) {
        if (tried.response === null) throw tried.error;
        const { response } = tried;
        exchange.answeredBy(response.body, isEmpty(response, options));
        return new ClientResponse(response, earlier + 1);
      }
      if (tried.response !== null)
        await exchange.unlessAborted(tried.response.body.dump().catch(() => {}));
      await exchange.unlessAborted(wait(pause));
    }
  }

  async #try(exchange: Exchange, url: URL, options: RequestOptions, limits: Limits): Promise<Try> {
    const { method = 'GET', headers = {}, body = null } = options;
    try {
      const agent = await this.#load();
      const response = await exchange.unlessAborted(
        agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: method as Dispatcher.HttpMethod,
          headers,
          body,
          signal: exchange.signal,
          headersTimeout: limits.firstByte,
          bodyTimeout: limits.silence,
          opaque: EXEMPT,
        }),
      );
      return { response, error: null };
    } catch (error) {
      if (!exchange.isOver) this.#countHit(error);
      return { response: null, error };
    }
  }

  /** How long to wait before the next try, in milliseconds; `null` if there is none. */
  #pauseBefore(
    { response, error }: Try,
    earlier: number,
    options: RequestOptions,
    exchange: Exchange,
  ): number | null {
    const { retries } = this.#settings;
    const failed = response === null ? isPassing(error) : isPassingStatus(response.statusCode);
    if (!failed || exchange.isOver || this.#closed !== null) return null;
    if (earlier >= retries.most || !isRepeatable(options)) return null;
    const asked = askedWait(response?.headers['retry-after']);
    const pause = Math.max(asked, backoff(retries.backoff, earlier));
    if (pause >= exchange.left || pause > LONGEST_TIMER) return null;
    if (!this.#budget.spend()) {
      this.#counts.retriesRefused++;
      return null;
    }
    this.#counts.retries++;
    return pause;
  }

  #ended(error: unknown): void {
    this.#counts.inFlight--;
    if (this.#counts.inFlight === 0) this.#onIdle();
    if (error === null) return;
    this.#counts.failed++;
    const { limit } = error as { limit?: unknown };
    if (limit === 'total') this.#counts.hits.total++;
    else if (codeOf(error) === 'UND_ERR_BODY_TIMEOUT') this.#counts.hits.silence++;
  }

  #countHit(error: unknown): void {
    const hit = HITS[codeOf(error)];
    if (hit !== undefined) this.#counts.hits[hit]++;
  }

  /** undici is loaded with the first call. */
  #load(): Promise<Agent> {
    this.#loading ??= import('undici').then(({ Agent, buildConnector }) => {
      const { connections, pipelining, limits } = this.#settings;
      const connect = buildConnector({ timeout: limits.connect });
      this.#agent = new Agent({
        connections,
        pipelining,
        connect: (options, callback) => exempted(() => connect(options, callback)),
      });
      return this.#agent;
    });
    return this.#loading;
  }
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
function isEmpty({ statusCode, headers }: Answer, { method }: RequestOptions) {
  return (
    method?.toUpperCase() === 'HEAD' ||
    statusCode === 204 ||
    statusCode === 304 ||
    headers['content-length'] === '0'
  );
}

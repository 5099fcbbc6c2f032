import type { Readable } from 'node:stream';
import type { buildConnector, Dispatcher } from 'undici';
import { clearTimeout, MAX_TIMER_MS, setTimeout } from '../outbound/clock.js';
import { EXEMPT } from '../outbound/exemption.js';
import { destroyBody } from './body.js';
import { ClientCall } from './client-call.js';
import { limitConnector } from './connect-limit.js';
import {
  type ClientSettings,
  checkRequest,
  type RequestOptions,
  resolveTarget,
} from './options.js';
import { OriginPool, type PoolCounts } from './origin-pool.js';
import { type PreparedRequest, prepareRequest } from './prepared-request.js';
import { ClientResponse, type UndiciResponse } from './response.js';
import { RetryBudget } from './retry-budget.js';
import {
  canBePipelined,
  computeBackoff,
  getErrorCode,
  isRepeatable,
  isTransientError,
  isTransientStatus,
  parseRetryAfter,
} from './retry-rules.js';

/** Counters of a client. */
export interface ClientStats {
  calls: number;
  /** Calls whose response has not yet arrived in full. */
  inFlight: number;
  /** Calls that failed. */
  failed: number;
  /** Retries that were created. */
  retries: number;
  /** Retries that the budget did not allow. */
  retriesRefused: number;
  /** Limits that fired: `total` once per call, the others once per try. */
  hits: { connect: number; headers: number; idle: number; total: number };
  /** By origin: open connections, those without a request, queued requests, and requests on connections. */
  pools: Record<string, PoolCounts>;
}

type Undici = typeof import('undici');

/** The result of a try: a response or an error. */
interface TryResult {
  response: UndiciResponse | null;
  error: unknown;
}

const LIMITS_BY_CODE: Record<string, keyof ClientStats['hits']> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'headers',
  UND_ERR_BODY_TIMEOUT: 'idle',
};

/** A client created by `createClient`. */
export class Client {
  readonly #settings: ClientSettings;
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
  /** Calls without a response so far. */
  readonly #unansweredCalls = new Set<ClientCall>();
  #connect: buildConnector.connector | null = null;
  #undici: Promise<Undici> | null = null;
  /** Set by `close` and `destroy`, after which calls fail. */
  #closedBy: 'closed' | 'destroyed' | null = null;
  #closing: Promise<void> | null = null;
  /** Called when the last call in flight has ended. */
  #onIdle = () => {};

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#budget = new RetryBudget(settings.retries.budgetRatio, settings.retries.minPerSecond);
  }

  /** Makes a call to a path of the client's origin, or to a URL. */
  async request(target: string | URL, options: RequestOptions = {}): Promise<ClientResponse> {
    // Nothing is awaited before the call is counted: `close` waits for calls begun before it.
    const request = this.#prepare(target, options);
    if (this.#closedBy !== null) {
      destroyBody(options.body);
      throw await createClosedError(this.#closedBy);
    }
    this.#counts.calls++;
    this.#counts.inFlight++;
    const call = new ClientCall(
      request.url.hostname,
      request.timeouts.total,
      options.signal ?? undefined,
      (error, ended) => this.#onCallEnd(error, ended),
    );
    if (!call.isOver) this.#unansweredCalls.add(call);
    this.#budget.deposit();
    try {
      return await this.#requestWithRetries(call, request);
    } catch (error) {
      call.end(error);
      destroyBody(options.body);
      throw error;
    }
  }

  /** Returns the counters. */
  stats(): ClientStats {
    const { hits, ...counts } = this.#counts;
    const pools: ClientStats['pools'] = {};
    for (const [origin, pool] of this.#pools) pools[origin] = pool.counts();
    return { ...counts, hits: { ...hits }, pools };
  }

  /** Waits for the calls in flight; calls from then on fail. */
  close(): Promise<void> {
    this.#closedBy ??= 'closed';
    this.#closing ??= this.#closeWhenIdle();
    return this.#closing;
  }

  /** As `close()`, at the end of a block that begins with `await using client = createClient()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Ends the calls in flight with the error; calls from then on fail. */
  async destroy(error?: Error): Promise<void> {
    this.#closedBy = 'destroyed';
    const reason = error ?? (await createClosedError('destroyed'));
    for (const call of [...this.#unansweredCalls]) call.abort(reason);
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy(reason)));
  }

  /** Waits for all calls before the pools are closed: undici would refuse the retry of a call that waits for it. */
  async #closeWhenIdle(): Promise<void> {
    if (this.#counts.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    if (this.#closedBy !== 'closed') return;
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Checks the options of a call; destroys its body, if it is a stream, when the call is refused. */
  #prepare(target: string | URL, options: RequestOptions): PreparedRequest {
    try {
      checkRequest(options);
      const url = resolveTarget(target, this.#settings.origin);
      return prepareRequest(url, options, this.#settings);
    } catch (error) {
      destroyBody(options?.body);
      throw error;
    }
  }

  async #requestWithRetries(call: ClientCall, request: PreparedRequest): Promise<ClientResponse> {
    for (let retry = 0; ; retry++) {
      const result = await this.#try(call, request);
      const pause = this.#computePause(result, retry, request, call);
      if (pause === null) {
        if (result.response === null) throw result.error;
        const { response } = result;
        call.onResponse(response.body, hasEmptyBody(response, request));
        // From here on it ends with its connection or its body.
        this.#unansweredCalls.delete(call);
        return new ClientResponse(response, retry + 1);
      }
      const drained = result.response && drainBody(result.response);
      await call.pause(pause);
      await drained;
    }
  }

  async #try(call: ClientCall, request: PreparedRequest): Promise<TryResult> {
    const { url, method, headers, body, timeouts } = request;
    const { pipelining } = this.#settings;
    const isShared = canBePipelined(request);
    try {
      const undici = await call.unlessAborted(this.#loadUndici());
      const options = {
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: body.open() as Readable | null,
        // See `TryLimits`.
        headersTimeout: 0,
        bodyTimeout: 0,
        opaque: EXEMPT,
        blocking: !isShared,
      };
      const pool = this.#findPool(url.origin, undici);
      const permits = isShared ? 1 : pipelining;
      const response = pool.request(options, permits, call.signal, timeouts);
      return { response: await call.unlessAborted(response), error: null };
    } catch (error) {
      if (!call.isOver) this.#countHit(error);
      return { response: null, error };
    }
  }

  /** Returns the delay before the next try, in milliseconds; `null` if there is none. */
  #computePause(
    { response, error }: TryResult,
    retry: number,
    request: PreparedRequest,
    call: ClientCall,
  ): number | null {
    const { maxRetries, baseDelay } = this.#settings.retries;
    const isTransient =
      response === null ? isTransientError(error) : isTransientStatus(response.statusCode);
    if (!isTransient || call.isOver || this.#closedBy !== null) return null;
    if (retry >= maxRetries || !isRepeatable(request)) return null;
    const retryAfter = parseRetryAfter(response?.headers['retry-after']);
    const pause = Math.max(retryAfter, computeBackoff(baseDelay, retry));
    if (pause >= call.remainingMs || pause > MAX_TIMER_MS) return null;
    if (!this.#budget.tryWithdraw()) {
      this.#counts.retriesRefused++;
      return null;
    }
    this.#counts.retries++;
    return pause;
  }

  #onCallEnd(error: unknown, call: ClientCall): void {
    this.#unansweredCalls.delete(call);
    this.#counts.inFlight--;
    if (this.#counts.inFlight === 0) this.#onIdle();
    if (error === null) return;
    this.#counts.failed++;
    const { limit } = error as { limit?: unknown };
    if (limit === 'total') this.#counts.hits.total++;
    else if (getErrorCode(error) === 'UND_ERR_BODY_TIMEOUT') this.#counts.hits.idle++;
  }

  #countHit(error: unknown): void {
    const hit = LIMITS_BY_CODE[getErrorCode(error)];
    if (hit !== undefined) this.#counts.hits[hit]++;
  }

  /** Loads undici with the first call. */
  #loadUndici(): Promise<Undici> {
    this.#undici ??= import('undici');
    return this.#undici;
  }

  #findPool(origin: string, { Pool, buildConnector }: Undici): OriginPool {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const { connections, pipelining, timeouts, secureContext } = this.#settings;
    // One connector for all pools: it keeps the TLS sessions that can be resumed.
    this.#connect ??= limitConnector(
      buildConnector({ timeout: 0, ...(secureContext && { secureContext }) }),
      timeouts.connect,
    );
    const pool = new Pool(origin, { connections, pipelining, connect: this.#connect });
    // Pools without connections are dropped, so that a client of many hosts does not keep them all.
    const created = new OriginPool(new URL(origin).hostname, pool, connections * pipelining, () => {
      if (this.#pools.get(origin) === created) this.#pools.delete(origin);
    });
    this.#pools.set(origin, created);
    return created;
  }
}

/**
 * How long the body of a response is read before its call is retried, so that its connection can be reused; in
 * milliseconds.
 */
const DRAIN_TIMEOUT_MS = 100;

async function drainBody({ body }: UndiciResponse): Promise<void> {
  const timer = setTimeout(() => body.destroy(), DRAIN_TIMEOUT_MS);
  await body.dump().catch(() => {});
  clearTimeout(timer);
}

/** Creates undici's error for a closed client; undici cannot, if it was never used before. */
async function createClosedError(how: 'closed' | 'destroyed'): Promise<Error> {
  const { errors } = await import('undici');
  const message = `The client is ${how}; it makes no further calls (millrace/client)`;
  return how === 'closed'
    ? new errors.ClientClosedError(message)
    : new errors.ClientDestroyedError(message);
}

/** Whether a response has no body. */
function hasEmptyBody({ statusCode, headers }: UndiciResponse, { method }: PreparedRequest) {
  return (
    method === 'HEAD' ||
    statusCode === 204 ||
    statusCode === 304 ||
    headers['content-length'] === '0'
  );
}

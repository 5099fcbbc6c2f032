import timers from 'node:timers';
import { type HttpServer, kConnection, type Outgoing } from '../node/node-internals.js';
import { native } from '../reactor/native.js';
import { connections } from '../reactor/registry.js';
import { errorResponse } from '../request/error-responses.js';
import { appendText } from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';
import { positive } from './configuration.js';
import type { StackLimits } from './limits.js';
import type { CountedHere } from './stats.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setInterval, clearInterval } = timers;

/** Milliseconds between two checks of arriving requests, for servers of HTTP/2: as those of HTTP/1.1 have by default. */
const CHECKING_INTERVAL = 30_000;
/** Milliseconds between two checks of the connections' rates. */
const RATE_INTERVAL = 1000;

/** What the watchdogs use of a server. */
interface WatchedServer {
  readonly server: HttpServer;
  readonly id: number;
  readonly limits: Readonly<StackLimits>;
  readonly stats: CountedHere;
  configure(): void;
  open(id: number): Connection | null;
  onLate(connection: Connection): void;
}

/** The timers of a server: they end requests that take too long to arrive, and connections that are too slow. */
export class Watchdogs {
  readonly #server: WatchedServer;
  #arrivals: NodeJS.Timeout | null = null;
  #rates: NodeJS.Timeout | null = null;

  constructor(server: WatchedServer) {
    this.#server = server;
  }

  /** Starts the checks, as Node does when a server listens. */
  start(): void {
    this.stop();
    const { connectionsCheckingInterval } = this.#server.server;
    this.#arrivals = setInterval(
      () => this.#checkArrivals(),
      connectionsCheckingInterval ?? CHECKING_INTERVAL,
    ).unref();
    this.followLimits();
  }

  stop(): void {
    if (this.#arrivals) clearInterval(this.#arrivals);
    this.#arrivals = null;
    this.followLimits();
  }

  /** Starts or stops the checks of rates: nothing wakes the event loop for a rate that is not limited. */
  followLimits(): void {
    const { minReceiveRate, minSendRate } = this.#server.limits;
    const isNeeded = this.#arrivals !== null && (minReceiveRate > 0 || minSendRate > 0);
    if (isNeeded === (this.#rates !== null)) return;
    if (this.#rates) clearInterval(this.#rates);
    this.#rates = isNeeded ? setInterval(() => this.#checkRates(), RATE_INTERVAL).unref() : null;
  }

  #checkArrivals(): void {
    const nativeServer = this.#server;
    nativeServer.configure();
    const head = positive(nativeServer.server.headersTimeout);
    const whole = positive(nativeServer.server.requestTimeout);
    if (!head && !whole) return;
    for (const id of native.stackLate(nativeServer.id, head, whole)) {
      const connection = connections[id] ?? nativeServer.open(id);
      if (connection) nativeServer.onLate(connection);
    }
  }

  #checkRates(): void {
    const { id: server, limits, stats } = this.#server;
    const { minReceiveRate, minSendRate } = limits;
    const { receiving, sending } = native.stackSlow(server, minReceiveRate, minSendRate);
    for (const id of receiving) {
      stats.tooSlow++;
      const connection = connections[id];
      if (connection) this.#server.onLate(connection);
    }
    for (const id of sending) {
      stats.tooSlow++;
      const connection = connections[id];
      if (connection) connection.socket.destroy();
      // A stream whose response has been written.
      else native.stackClose(id, true);
    }
  }
}

/** Ends a response that has reached its deadline, if no earlier one of its connection is incomplete. */
export function endLateResponse({ limits, stats }: WatchedServer, response: Outgoing): void {
  const connection = (response as unknown as Record<symbol, Connection>)[kConnection];
  if (!connection || connection.destroyed || connection.socket._httpMessage !== response) return;
  // The helper thread has answered it while the event loop was busy.
  if (native.stackIsTimedOut(connection.id)) return;
  stats.responseTimeouts++;
  const { socket } = connection;
  if (response._headerSent || !socket.writable) {
    socket.destroy();
    return;
  }
  appendText(connection, errorResponse(limits.responseTimeoutStatus), true);
  socket.destroySoon();
}

import { offerControl } from '../cache/control.js';
import { getCacheOptions, ServerCache, toNativeOptions } from '../cache/server-cache.js';
import { nodeHttp } from '../node/node-http.js';
import type { HttpServer } from '../node/node-internals.js';
import { MAJOR } from '../node/node-version.js';
import { setHelperThreadUse } from '../reactor/helper-thread.js';
import { native } from '../reactor/native.js';
import { flushAll } from '../sending/output-buffer.js';
import { speaksHttp2 } from './http2.js';
import { getLimits, type StackLimits } from './limits.js';
import { ReplacedListeners } from './replaced-listeners.js';

/** Maximum number of fields of a head that is handled natively, unless the server's `maxHeadersCount` is lower. */
const MAX_FIELDS = 1000;
/** Maximum of the reactor's numbers; higher limits are none. */
const MAX_UINT32 = 0xffff_ffff;
/** Milliseconds that Node adds to `keepAliveTimeout`, unless `keepAliveTimeoutBuffer` is set. */
const KEEP_ALIVE_BUFFER = 1000;
/** Whether this Node.js has the property `keepAliveTimeoutBuffer`. */
const KNOWS_BUFFER = 'keepAliveTimeoutBuffer' in nodeHttp.createServer();

type NativeSettings = Parameters<typeof native.stackAddServer>[0];

/** The settings of one `http.Server`, which may change at any time, and their copy in the reactor. */
export abstract class ServerConfiguration {
  readonly server: HttpServer;
  /** Number of the server in the reactor; -1 before it listens and after it is closed. */
  id = -1;
  limits: Readonly<StackLimits>;
  /** Whether there is an output cache whose responses have `Cache-Status`. */
  caches = false;
  reportsCacheStatus = false;
  readonly cache = new ServerCache(() => this.id);
  /**
   * Whether responses are sent at once, not collected: the helper thread decides by what was sent whether a response is
   * late, a request is one too many or a cache entry is complete. Also true where `whileBusy` turns that thread off.
   */
  isWatched = false;
  /** Whether the server shares its port, and so owns a part of the requests only. */
  isShared = false;
  readonly replacedListeners: ReplacedListeners;
  /** Properties of the server at the last `configure()`. */
  #keepAliveTimeout: unknown;
  #maxHeadersCount: unknown;
  #maxHeaderSize: unknown;
  #maxConnections: unknown;
  #requiredAdmission = false;
  /** The settings that the reactor has, as JSON. */
  #settings = '';

  constructor(server: HttpServer) {
    this.server = server;
    this.limits = getLimits(server);
    this.replacedListeners = new ReplacedListeners(server);
  }

  /** Passes the current properties of the server to the reactor. */
  configure(): void {
    const { server } = this;
    this.limits = getLimits(server);
    this.#keepAliveTimeout = server.keepAliveTimeout;
    this.#maxHeadersCount = server.maxHeadersCount;
    this.#maxHeaderSize = server.maxHeaderSize;
    this.#maxConnections = server.maxConnections;
    const cache = getCacheOptions(server);
    this.caches = cache !== null;
    this.reportsCacheStatus = cache?.status === true;
    this.#requiredAdmission = this.requiresAdmission;
    if (this.id < 0) return;
    const { responseTimeout, maxRequestsInFlight } = this.limits;
    const before = this.isWatched;
    this.isWatched = this.caches || responseTimeout > 0 || maxRequestsInFlight > 0;
    if (this.isWatched && !before) flushAll();
    setHelperThreadUse(this, this.isWatched || this.isShared);
    offerControl(this, this.caches);
    const settings = this.settings();
    const text = JSON.stringify(settings);
    if (text === this.#settings) return;
    this.#settings = text;
    native.stackConfigure(this.id, settings);
  }

  /** Whether a property that requests depend on has changed since the last `configure()`. */
  isOutdated(): boolean {
    const { server } = this;
    return (
      server.keepAliveTimeout !== this.#keepAliveTimeout ||
      server.maxHeadersCount !== this.#maxHeadersCount ||
      server.maxHeaderSize !== this.#maxHeaderSize
    );
  }

  /** Whether a property that new connections depend on has changed since the last `configure()`. */
  isOutdatedForConnections(): boolean {
    return (
      !Object.is(this.server.maxConnections, this.#maxConnections) ||
      (this.caches && this.requiresAdmission !== this.#requiredAdmission)
    );
  }

  /** Builds the settings for the reactor. */
  protected settings(): NativeSettings {
    const { server } = this;
    return {
      maxHeaderSize: server.maxHeaderSize || nodeHttp.maxHeaderSize,
      maxFields: Math.min(MAX_FIELDS, positive(server.maxHeadersCount) || MAX_FIELDS),
      maxPipelined: Math.min(this.limits.maxPipelinedRequests, MAX_UINT32),
      keepAliveMs: this.keepAliveMs,
      noDelay: server.noDelay !== false,
      // Node keeps it in seconds.
      ...(server.keepAlive && { tcpKeepAliveMs: (server.keepAliveInitialDelay || 0) * 1000 }),
      ...(positive(server.keepAliveTimeout) && {
        keepAliveSeconds: Math.floor(server.keepAliveTimeout / 1000),
      }),
      ...(speaksHttp2(server) && {
        maxConcurrentStreams: Math.min(this.limits.maxConcurrentStreams, MAX_UINT32),
      }),
      maxRequests: Math.min(positive(server.maxRequestsPerSocket), MAX_UINT32),
      countsRequests: positive(server.maxRequestsPerSocket) > 0,
      requiresAdmission: this.requiresAdmission,
      maxInFlight: Math.min(this.limits.maxRequestsInFlight, MAX_UINT32),
      ...(this.maxConnections <= MAX_UINT32 && {
        maxConnections: Math.max(0, Math.ceil(this.maxConnections)),
      }),
      responseMs: this.limits.responseTimeout,
      responseStatus: this.limits.responseTimeoutStatus,
      ...toNativeOptions(getCacheOptions(server)),
    };
  }

  /** Time limit until a connection's next request in milliseconds; 0: no limit. */
  get keepAliveMs(): number {
    const { keepAliveTimeout, keepAliveTimeoutBuffer } = this.server;
    const timeout = positive(keepAliveTimeout);
    const buffer = Number(keepAliveTimeoutBuffer);
    const counts = KNOWS_BUFFER && Number.isFinite(keepAliveTimeoutBuffer) && buffer >= 0;
    return timeout && timeout + (counts ? buffer : KEEP_ALIVE_BUFFER);
  }

  /** Number of connections from which on Node drops new ones; infinite or `NaN`: it drops none. */
  get maxConnections(): number {
    const { maxConnections } = this.server;
    // Zero means "no connections" since Node 22, and "no limit" before.
    const isLimit = MAJOR < 22 ? Boolean(maxConnections) : maxConnections != null;
    return isLimit ? Number(maxConnections) : Infinity;
  }

  /** Whether the application sees connections before anything is answered on them. */
  protected get requiresAdmission(): boolean {
    const { server } = this;
    if (!this.replacedListeners.isInstalled('connection')) return true;
    return server.maxConnections != null || server.listenerCount('connection') > 1;
  }

  /** Adds the server to the reactor. */
  protected addToReactor(): void {
    this.id = native.stackAddServer(this.settings());
  }

  /** Removes the server, which is closed and has no connection, from the reactor. */
  removeFromReactor(): void {
    this.isShared = false;
    setHelperThreadUse(this, false);
    offerControl(this, false);
    native.stackRemoveServer(this.id);
    this.id = -1;
    this.#settings = '';
  }
}

/** Returns a setting that limits something, or 0: no limit. */
export function positive(value: unknown): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0;
}

import type { UnusualReason } from './unusual-reason.js';

/** Counters of a server: connections and requests served natively and by Node's own code, with the reasons. */
export interface StackStats {
  connections: {
    /** Open native connections. */
    open: number;
    /** Native connections since the start, without those that fell back. */
    native: number;
    /** Connections that fell back to Node's own code. */
    fallback: number;
    /** Connections that were accepted and lost, as there was no memory or the system could not watch another descriptor. */
    lost: number;
    /** On a shared port: connections that moved to the process that owns their requests, without relayed ones. */
    moved: number;
    /** On a shared port: TLS connections whose decrypted data was relayed to the process that owns their requests. */
    relayed: number;
  };
  requests: {
    /** Requests of native connections whose response is not complete. */
    inFlight: number;
    /** Requests of native connections. */
    native: number;
    /** Requests that the output cache answered. */
    cached: number;
    /** Requests of connections that fell back to Node's own code. */
    fallback: number;
    /** On a shared port: requests that were answered 404 or 503, as no process owns their URL. */
    unowned: number;
  };
  http2: {
    /** Connections that speak HTTP/2. */
    connections: number;
    /** Streams that clients have opened, one for each request. */
    streams: number;
    /** Streams that clients have reset, or that broke a rule of the protocol. */
    resets: number;
    /** Streams that were refused: beyond `maxConcurrentStreams`, or behind GOAWAY. */
    refused: number;
    /** Connections that were ended with an error of the protocol. */
    errors: number;
    /** On a shared port: requests that were answered 421, as another process owns their URL. */
    misdirected: number;
  };
  /** Connections that fell back to Node's own code, by reason. */
  fallbackReasons: Record<string, number>;
  /** Requests that left the fast path, as Node's own code has to read them or to decide about them, by reason. */
  unusualRequests: Partial<Record<UnusualReason, number>>;
  /** Responses that `responseTimeout` ended. */
  responseTimeouts: number;
  /** Requests answered 503 because of `maxRequestsInFlight`. */
  overloaded: number;
  /** Connections closed, and streams of HTTP/2 ended, because of `minReceiveRate` or `minSendRate`. */
  tooSlow: number;
  /** Errors of the stack itself, each of which ended a connection; the process also warns of them (`MILLRACE_INTERNAL_ERROR`). */
  internalErrors: number;
}

/** The counters that are kept in JavaScript; the others are computed when they are read. */
export type CountedHere = Omit<
  StackStats,
  'connections' | 'requests' | 'unusualRequests' | 'http2'
> & {
  connections: Omit<StackStats['connections'], 'open' | 'lost' | 'moved' | 'relayed'>;
  requests: Omit<StackStats['requests'], 'inFlight' | 'native' | 'cached' | 'unowned'>;
};

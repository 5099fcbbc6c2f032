/** Counters of a server: what was served natively, what by Node's own code, and why. */
export interface StackStats {
  connections: {
    /** Native connections now. */
    open: number;
    /** Native connections so far, without those that fell back. */
    native: number;
    /** Connections so far that fell back to Node's own code. */
    fallback: number;
    /** Connections so far that were accepted and lost: no memory was left, or the system could watch no more. */
    lost: number;
    /** On a shared port, connections so far that moved to the process that owns their requests, without those that are relayed. */
    moved: number;
    /** On a shared port, TLS connections so far whose text was relayed to the process that owns their requests. */
    relayed: number;
  };
  requests: {
    /** Requests of native connections now that have begun and are not answered to the end. */
    inFlight: number;
    /** Requests of native connections so far. */
    native: number;
    /** Requests so far that the output cache has answered. */
    cached: number;
    /** Requests so far of connections that fell back to Node's own code. */
    fallback: number;
    /** On a shared port, requests so far that were answered 404 or 503, as no process has their URL. */
    unowned: number;
  };
  /** Connections that fell back to Node's own code, by reason. */
  fallbackReasons: Record<string, number>;
  /** Responses that `responseTimeout` ended. */
  responseTimeouts: number;
  /** Requests answered 503 because of `maxRequestsInFlight`. */
  overloaded: number;
  /** Connections closed because of `minReceiveRate` or `minSendRate`. */
  tooSlow: number;
}

/** Counters that are kept here; the others are computed when they are read. */
export type CountedHere = Omit<StackStats, 'connections' | 'requests'> & {
  connections: Omit<StackStats['connections'], 'open' | 'lost' | 'moved' | 'relayed'>;
  requests: Omit<StackStats['requests'], 'inFlight' | 'native' | 'cached' | 'unowned'>;
};

/** What a server has done so far: how much natively, how much by Node's own code, and why. */
export interface StackStats {
  connections: {
    /** Now, the native ones. */
    open: number;
    /** So far, without those that were handed over. */
    native: number;
    /** So far, served by Node's own code. */
    handedOver: number;
    /** So far, those that were accepted and could not be taken, for want of memory or of the system's room to watch them. */
    lost: number;
    /** So far, given to whom their requests belong, where the port is shared; those whose TLS session stays are not. */
    moved: number;
    /** So far, those with a TLS session that stays: their text went to whom the requests belong. */
    relayed: number;
  };
  requests: {
    /** Now: begun and not yet answered to the end, on native connections. */
    inFlight: number;
    /** So far, on native connections. */
    native: number;
    /** So far, answered from the output cache. */
    cached: number;
    /** So far, on connections that were handed over. */
    handedOver: number;
    /** So far, answered 404 or 503 since nobody has their URL, where the port is shared. */
    unowned: number;
  };
  /** Connections handed over, by reason. */
  reasons: Record<string, number>;
  /** Responses that met `responseTimeout`. */
  responseTimeouts: number;
  /** Requests answered 503 for `maxRequestsInFlight`. */
  overloaded: number;
  /** Connections closed for `minReceiveRate` or `minSendRate`. */
  tooSlow: number;
}

/** What is counted as it happens; the rest is known anyway. */
export type CountedHere = Omit<StackStats, 'connections' | 'requests'> & {
  connections: Omit<StackStats['connections'], 'open' | 'lost' | 'moved' | 'relayed'>;
  requests: Omit<StackStats['requests'], 'inFlight' | 'native' | 'cached' | 'unowned'>;
};

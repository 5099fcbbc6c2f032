/** How long an outbound call may take, in milliseconds. 0: no limit. */
export interface DeadlineLimits {
  /** From the start of the name lookup until the connection is open. */
  connect: number;
  /** The TLS handshake, from the open connection on. */
  tls: number;
  /** From the last byte sent of the request until the response headers; each byte that arrives starts it again. */
  headers: number;
  /** Between two bytes of the response body. */
  idle: number;
  /** From the call to the last byte of its response, including the wait for a connection. */
  total: number;
}

export type DeadlineName = keyof DeadlineLimits;

/** The default of `total`, and of `headers` and `idle` where `total` is off, in milliseconds. */
const DEFAULT_TOTAL_MS = 3000;

/** The variable of each limit, and its default: milliseconds, or the limit whose value it takes. */
export const DEADLINES: Record<DeadlineName, { variable: string; defaultValue: number | 'total' }> =
  {
    // A lost SYN is sent again after 1 s; 2 s leave another second for the answer to the second one.
    connect: { variable: 'MILLRACE_DEADLINE_CONNECT', defaultValue: 2000 },
    tls: { variable: 'MILLRACE_DEADLINE_TLS', defaultValue: 2000 },
    headers: { variable: 'MILLRACE_DEADLINE_HEADERS', defaultValue: 'total' },
    idle: { variable: 'MILLRACE_DEADLINE_IDLE', defaultValue: 'total' },
    total: { variable: 'MILLRACE_DEADLINE_TOTAL', defaultValue: DEFAULT_TOTAL_MS },
  };

export const DEADLINE_NAMES = Object.keys(DEADLINES) as DeadlineName[];

/** Fills in the limits that are not set: `headers` and `idle` follow the total in effect. */
export function completeLimits(options: Partial<DeadlineLimits>): DeadlineLimits {
  const total = options.total ?? DEFAULT_TOTAL_MS;
  const limits = {} as DeadlineLimits;
  for (const name of DEADLINE_NAMES) {
    const { defaultValue } = DEADLINES[name];
    limits[name] =
      options[name] ?? (defaultValue === 'total' ? total || DEFAULT_TOTAL_MS : defaultValue);
  }
  return limits;
}

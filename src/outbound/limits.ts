/** How long an outbound call may take, in milliseconds. 0: no limit. */
export interface DeadlineLimits {
  /** Until a connection is open, with looking up its host. */
  connect: number;
  /** For the TLS handshake, from the open connection on. */
  tls: number;
  /** From the last byte of the request that was sent to the first one of the answer. */
  firstByte: number;
  /** Between two bytes of the answer. */
  silence: number;
  /** From the call to the last byte of its answer, with waiting for a connection. */
  total: number;
}

export type DeadlineName = keyof DeadlineLimits;

/** The words for them in variables, and what holds where nothing is given: milliseconds, or as long as another limit. */
export const DEADLINES: Record<
  DeadlineName,
  { word: string; variable: string; fallback: number | 'total' }
> = {
  // A lost SYN is sent again after a second, and has another one to be answered.
  connect: { word: 'connect', variable: 'MILLRACE_DEADLINE_CONNECT', fallback: 2000 },
  tls: { word: 'tls', variable: 'MILLRACE_DEADLINE_TLS', fallback: 2000 },
  firstByte: { word: 'first-byte', variable: 'MILLRACE_DEADLINE_FIRST_BYTE', fallback: 'total' },
  silence: { word: 'silence', variable: 'MILLRACE_DEADLINE_SILENCE', fallback: 'total' },
  total: { word: 'total', variable: 'MILLRACE_DEADLINE_TOTAL', fallback: 3000 },
};

export const DEADLINE_NAMES = Object.keys(DEADLINES) as DeadlineName[];

/** As long as people wait; first byte and silence have it too where there is no limit in all. */
const PATIENCE = 3000;

/** All limits, where some are given: what follows the total follows the one that is in effect. */
export function completed(given: Partial<DeadlineLimits>): DeadlineLimits {
  const total = given.total ?? PATIENCE;
  const limits = {} as DeadlineLimits;
  for (const name of DEADLINE_NAMES) {
    const { fallback } = DEADLINES[name];
    limits[name] = given[name] ?? (fallback === 'total' ? total || PATIENCE : fallback);
  }
  return limits;
}

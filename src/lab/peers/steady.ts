/** The counts at a moment, since the start. */
export interface Reading {
  atMs: number;
  /** Requests counted by the server. */
  requests: number;
  /** CPU time of the tool and of the server; `null` if the system does not report it. */
  cpu: { toolMs: number; serverMs: number } | null;
}

/** The steady part of a load, without its start and end. */
export interface SteadyPart {
  /** Requests per second counted by the server. */
  rate: number;
  cpu: { toolCores: number; serverCores: number } | null;
}

/** Time after the first request that is left out: the code of some tools is still being compiled. */
const SETTLE_MS = 300;
/** Minimum length of the steady part. */
const MIN_STEADY_MS = 200;

/** Finds the part of a run under full load, without the tool's start and end; `null` if it is too short. */
export function findSteadyPart(readings: Reading[]): SteadyPart | null {
  const grown = readings.filter(
    ({ requests }, index) => requests > (readings[index - 1]?.requests ?? requests),
  );
  const firstMs = grown[0]?.atMs ?? 0;
  const begin = grown.find(({ atMs }) => atMs >= firstMs + SETTLE_MS);
  // The load may have ended before the last reading.
  const end = grown.at(-2);
  if (!begin || !end || end.atMs - begin.atMs < MIN_STEADY_MS) return null;
  const spanMs = end.atMs - begin.atMs;
  const cpu =
    begin.cpu && end.cpu
      ? {
          toolCores: (end.cpu.toolMs - begin.cpu.toolMs) / spanMs,
          serverCores: (end.cpu.serverMs - begin.cpu.serverMs) / spanMs,
        }
      : null;
  return { rate: ((end.requests - begin.requests) * 1000) / spanMs, cpu };
}

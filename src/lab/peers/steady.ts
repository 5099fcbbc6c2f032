/** What was counted at a moment, since the beginning. */
export interface Reading {
  atMs: number;
  /** Requests, as the server counts. */
  requests: number;
  /** CPU time of the tool and of the server; `null` where the system does not tell. */
  cpu: { toolMs: number; serverMs: number } | null;
}

/** A load between its start and its end. */
export interface SteadyPart {
  /** Requests per second, as the server counts. */
  rate: number;
  cpu: { toolCores: number; serverCores: number } | null;
}

/** After the first request: the code of some tools is being compiled then. */
const SETTLE_MS = 300;
/** Less says nothing. */
const MIN_STEADY_MS = 200;

/** The part of a run in which the load is on, without what a tool does before and after it; `null`: there is none. */
export function findSteadyPart(readings: Reading[]): SteadyPart | null {
  const grown = readings.filter(
    ({ requests }, index) => requests > (readings[index - 1]?.requests ?? requests),
  );
  const firstMs = grown[0]?.atMs ?? 0;
  const begin = grown.find(({ atMs }) => atMs >= firstMs + SETTLE_MS);
  // In what comes before the last one the load may have ended.
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

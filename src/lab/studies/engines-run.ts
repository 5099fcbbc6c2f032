import type { PeerMeasurement } from '../peers/peer-measure.js';

/** Of each load. */
export const CONNECTIONS = 50;

/** A server, and how it is loaded. */
export interface Scenario {
  server: 'own' | 'nginx';
  processes: number;
  /** A connection for each request. */
  close: boolean;
}

/** A tool against a server. */
export interface ToolRun extends PeerMeasurement {
  tool: string;
  scenario: Scenario;
}

/** What a tool gave in a scenario, on average over its runs. */
export interface ToolResult {
  tool: string;
  reportedRate: number;
  countedRate: number | null;
  errors: number;
  /** CPU in cores; `null` where the system does not tell. */
  toolCores: number | null;
  serverCores: number | null;
  /** CPU time of the tool for a request, in milliseconds. */
  cpuMs: number | null;
  /** Requests for each second of its CPU time. */
  perCore: number | null;
  /** The same of each run. */
  perCoreRuns: number[];
}

export function formatScenario({ server, processes, close }: Scenario): string {
  const whose = server === 'own' ? 'own test server' : 'nginx';
  return `${close ? 'no keep-alive' : 'keep-alive'}, ${whose} on ${processes === 1 ? '1 core' : `${processes} cores`}`;
}

/** `null`: it was not measured. */
export function summarizeRuns(
  runs: ToolRun[],
  tool: string,
  scenario: Scenario,
): ToolResult | null {
  const own = runs.filter((run) => run.tool === tool && run.scenario === scenario);
  if (own.length === 0) return null;
  const steady = own.flatMap((run) => run.steady ?? []);
  const cpu = steady.flatMap((one) => one.cpu ?? []);
  const countedRate = mean(steady.map(({ rate }) => rate));
  const toolCores = mean(cpu.map((one) => one.toolCores));
  const perCore = countedRate !== null && toolCores ? countedRate / toolCores : null;
  return {
    tool,
    reportedRate: mean(own.map(({ reported }) => reported.rate)) ?? 0,
    countedRate,
    errors: own.reduce((sum, { reported }) => sum + reported.errors, 0),
    toolCores,
    serverCores: mean(cpu.map((one) => one.serverCores)),
    cpuMs: perCore === null ? null : 1000 / perCore,
    perCore,
    perCoreRuns: steady.flatMap(({ rate, cpu }) => (cpu?.toolCores ? [rate / cpu.toolCores] : [])),
  };
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

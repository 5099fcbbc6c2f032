import type { Scenario, ToolResult, ToolRun } from './engines-types.js';

/** Connections of each load. */
export const CONNECTIONS = 50;

/** Names a scenario in words. */
export function formatScenario({ server, processes, close }: Scenario): string {
  const whose = server === 'own' ? 'test server' : 'nginx';
  return `${close ? 'no keep-alive' : 'keep-alive'}, ${whose} on ${processes === 1 ? '1 core' : `${processes} cores`}`;
}

/** Averages the runs of a tool in a scenario; `null` if it was not measured. */
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

import type { LabFigure, LabTable } from '../result.js';
import { createBars, createColumn } from '../tables.js';
import { formatScenario, summarizeRuns } from './engines-run.js';
import type { Scenario, ToolResult, ToolRun } from './engines-types.js';

/** The tools in the order of the study, followed by those that it did not include. */
const ROWS = [
  'loadtest',
  'bare sockets',
  'loadtest --tcp',
  'autocannon',
  'ab',
  'wrk',
  'siege',
  'vegeta',
  'hey',
  'oha',
  'millrace',
];

/** Requests per second of the original study, by server. Its server on several cores had three. */
const ORIGINAL_FIGURES: Record<string, Record<string, number>> = {
  'own 1 close': {
    loadtest: 6000,
    'bare sockets': 10_000,
    'loadtest --tcp': 9000,
    autocannon: 8000,
    ab: 20_000,
  },
  'own 1 keep-alive': {
    loadtest: 21_000,
    'bare sockets': 80_000,
    'loadtest --tcp': 68_000,
    autocannon: 57_000,
    wrk: 73_000,
  },
  'own n keep-alive': {
    loadtest: 54_000,
    'loadtest --tcp': 115_000,
    autocannon: 107_000,
    wrk: 118_000,
  },
  'nginx 1 keep-alive': {
    loadtest: 19_000,
    'loadtest --tcp': 61_000,
    autocannon: 40_000,
    wrk: 111_000,
  },
  'nginx n keep-alive': {
    loadtest: 49_000,
    'loadtest --tcp': 111_000,
    autocannon: 80_000,
    wrk: 122_000,
  },
};

/** Builds the table of a scenario. */
export function buildTable(scenario: Scenario, runs: ToolRun[]): LabTable {
  const { server, processes, close } = scenario;
  const size = processes === 1 ? '1' : 'n';
  const then = ORIGINAL_FIGURES[`${server} ${size} ${close ? 'close' : 'keep-alive'}`] ?? {};
  const rows = ROWS.flatMap((tool) => {
    const cell = summarizeRuns(runs, tool, scenario);
    if (cell === null && then[tool] === undefined) return [];
    return [{ name: tool, cells: [then[tool] ?? null, ...listCells(cell)] }];
  });
  return {
    title: `${formatScenario(scenario)}${processes > 1 ? ' now, 3 then' : ''}`,
    rowsAre: 'load tester',
    columns: [
      { name: 'req/s', unit: 'rate', from: 'then' },
      createColumn('req/s, reported', 'rate'),
      createColumn('req/s, counted', 'rate'),
      createColumn('errors', 'count'),
      createColumn('cores: server', 'cores'),
      createColumn('cores: tool', 'cores'),
      createColumn('CPU per request', 'time'),
      createColumn('req/s per core', 'rate'),
    ],
    rows,
  };
}

function listCells(cell: ToolResult | null): (number | null)[] {
  if (cell === null) return Array.from({ length: 7 }, () => null);
  const { reportedRate, countedRate, errors, serverCores, toolCores, cpuMs, perCore } = cell;
  return [reportedRate, countedRate, errors, serverCores, toolCores, cpuMs, perCore];
}

/** Builds the bar charts of all scenarios. */
export function buildFigures(scenarios: Scenario[], runs: ToolRun[]): LabFigure[] {
  const groups = (of: (cell: ToolResult) => number | null) =>
    scenarios.map((scenario) => ({
      name: formatScenario(scenario),
      bars: ROWS.flatMap((tool) => {
        const cell = summarizeRuns(runs, tool, scenario);
        return cell ? [{ name: tool, value: of(cell) }] : [];
      }),
    }));
  return [
    createBars(
      'Throughput',
      'Requests per second, counted by the server.',
      'rate',
      groups(({ countedRate }) => countedRate),
    ),
    createBars(
      'Requests per CPU second of the tool',
      'Throughput of one core if the tool alone were the limit.',
      'rate',
      groups(({ perCore }) => perCore),
    ),
  ];
}

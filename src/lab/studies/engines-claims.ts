import { cores, count } from '../../format/units.js';
import { estimateRatio } from '../../statistics/ratio.js';
import type { PeerFailure, PeerMeasurement } from '../peers/peer-measure.js';
import type { LabClaim } from '../result.js';
import { CONNECTIONS, formatScenario, summarizeRuns } from './engines-run.js';
import type { Scenario, ToolResult, ToolRun } from './engines-types.js';

/** A tool's run against the server that sends heads before bodies. */
export type HeadFirstRun = { tool: string } & (PeerMeasurement | PeerFailure);

/** Tolerated difference between the counts of a tool and the server. */
const COUNT_TOLERANCE = 0.02;
/** Ratio of CPU between tool and server from which on the tool is the limit. */
const BUSIER_RATIO = 1.2;
/** Connections of the load in which heads are sent before bodies. */
export const HEAD_FIRST_CONNECTIONS = 5;
/** The tools that need the least CPU per request. */
const RIVALS = ['wrk', 'ab'];
const IN_JAVASCRIPT = ['loadtest', 'loadtest --tcp', 'autocannon'];

/** Checks the claims of the study against the runs. */
export function checkClaims(
  scenarios: Scenario[],
  runs: ToolRun[],
  headFirst: HeadFirstRun[],
): LabClaim[] {
  const tools = [...new Set(runs.map(({ tool }) => tool))];
  const cells = (scenario: Scenario) =>
    tools.flatMap((tool) => summarizeRuns(runs, tool, scenario) ?? []);
  return [
    ...scenarios.map((scenario) => checkPerCore(formatScenario(scenario), cells(scenario))),
    checkCounts('millrace', runs.filter(isMillrace)),
    checkCounts(
      'each of the others',
      runs.filter((run) => !isMillrace(run)),
    ),
    checkKeepAlive(scenarios, runs, tools),
    checkToolLimit(scenarios.filter(isNginxKept).flatMap(cells)),
    checkHeadFirst(headFirst),
  ];
}

/** Compares millrace with the rivals by requests per CPU second. The first rival decides the claim. */
function checkPerCore(name: string, cells: ToolResult[]): LabClaim {
  const own = cells.find(({ tool }) => tool === 'millrace');
  const rivals = RIVALS.flatMap((rival) => cells.find(({ tool }) => tool === rival) ?? []);
  const compared = own ? rivals.flatMap((rival) => compare(own, rival) ?? []) : [];
  const list = compared.map(({ text }) => text).join(', ');
  return {
    text: `${name}: millrace makes at least as many requests per CPU second as ${rivals[0]?.tool ?? RIVALS[0]}${list === '' ? '' : `: ${list}`}`,
    held: compared[0]?.held ?? null,
  };
}

function compare(
  own: ToolResult,
  rival: ToolResult,
): { text: string; held: boolean | null } | null {
  const pairs = rival.perCoreRuns.flatMap((before, index) => {
    const after = own.perCoreRuns[index];
    return after === undefined ? [] : [[before, after] as const];
  });
  if (pairs.length === 0) return null;
  const { ratio, low, high } = estimateRatio(pairs);
  const range = pairs.length < 2 ? 'one run each' : `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return {
    text: `${ratio.toFixed(2)}x ${rival.tool} (${range})`,
    held: low >= 1 ? true : high < 1 ? false : null,
  };
}

function checkCounts(whose: string, runs: ToolRun[]): LabClaim {
  const wrong = runs.filter(
    ({ reported, counted }) => !isConsistent(reported.requests, counted, CONNECTIONS),
  );
  const listed = new Map(
    wrong.map(({ tool, scenario, reported, counted }) => [
      `${tool}, ${formatScenario(scenario)}`,
      `${count(reported.requests)} of ${count(counted)}`,
    ]),
  );
  const exceptions = [...listed].map(([what, counts]) => `${what}: ${counts}`);
  return {
    text: `${whose} agrees with the server's count, within ${COUNT_TOLERANCE * 100} % and one request per connection${exceptions.length > 0 ? `, except ${exceptions.join('; ')}` : ''}`,
    held: runs.length === 0 ? null : wrong.length === 0,
  };
}

/** Whether two counts agree; each connection may have a request in flight when a tool ends. */
function isConsistent(reported: number, counted: number, connections: number): boolean {
  return Math.abs(reported - counted) <= COUNT_TOLERANCE * counted + connections;
}

function checkKeepAlive(scenarios: Scenario[], runs: ToolRun[], tools: string[]): LabClaim {
  const [close, kept] = [true, false].map((how) =>
    scenarios.find((one) => one.server === 'own' && one.processes === 1 && one.close === how),
  );
  const ratios = tools.flatMap((tool) => {
    const [without, withIt] = [close, kept].map((one) => one && summarizeRuns(runs, tool, one));
    if (!without?.countedRate || !withIt?.countedRate) return [];
    return { tool, ratio: withIt.countedRate / without.countedRate };
  });
  const list = ratios.map(({ tool, ratio }) => `${tool} ${ratio.toFixed(1)}x`).join(', ');
  return {
    text: `keep-alive is faster than a connection for each request${list === '' ? '' : `: ${list}`}`,
    held: ratios.length === 0 ? null : ratios.every(({ ratio }) => ratio > 1),
  };
}

/** Checks that tools in JavaScript are their own limit against nginx. */
function checkToolLimit(cells: ToolResult[]): LabClaim {
  const busy = cells.flatMap(({ tool, toolCores, serverCores }) =>
    IN_JAVASCRIPT.includes(tool) && toolCores !== null && serverCores !== null
      ? [{ tool, toolCores, serverCores }]
      : [],
  );
  const list = busy
    .map((one) => `${one.tool} ${cores(one.toolCores)} cores to ${cores(one.serverCores)}`)
    .join(', ');
  return {
    text: `against nginx the tools in JavaScript are the limit: their core is busier than the server's${list === '' ? '' : `: ${list}`}`,
    held:
      busy.length === 0
        ? null
        : busy.every(({ toolCores, serverCores }) => toolCores >= BUSIER_RATIO * serverCores),
  };
}

function checkHeadFirst(all: HeadFirstRun[]): LabClaim {
  const [own, trick] = ['millrace', 'loadtest --tcp'].map((name) =>
    all.find(({ tool }) => tool === name),
  );
  const measured = own && !('failure' in own) ? own : null;
  const others = trick
    ? `; loadtest --tcp, which recognizes responses by the length of packets: ${describeRun(trick)}`
    : '';
  return {
    text: `millrace reads responses whose head is sent before their body${own ? `: ${describeRun(own)}` : ''}${others}`,
    held: own
      ? measured !== null &&
        measured.reported.errors === 0 &&
        isConsistent(measured.reported.requests, measured.counted, HEAD_FIRST_CONNECTIONS)
      : null,
  };
}

function describeRun(one: HeadFirstRun): string {
  if ('failure' in one) return one.failure;
  return `${count(one.reported.requests)} of ${count(one.counted)}, ${count(one.reported.errors)} errors`;
}

function isNginxKept({ server, processes, close }: Scenario): boolean {
  return server === 'nginx' && processes === 1 && !close;
}

function isMillrace({ tool }: ToolRun): boolean {
  return tool === 'millrace';
}

import { cores, count } from '../../format/units.js';
import { estimateRatio } from '../../statistics/ratio.js';
import type { PeerFailure, PeerMeasurement } from '../peers/peer-measure.js';
import type { Claim } from '../result.js';
import {
  CONNECTIONS,
  formatScenario,
  type Scenario,
  summarizeRuns,
  type ToolResult,
  type ToolRun,
} from './engines-run.js';

/** What a tool made of heads that come before their bodies. */
export type HeadFirstRun = { tool: string } & (PeerMeasurement | PeerFailure);

/** Of 1: how far the count of a tool may be from that of the server. */
const COUNT_TOLERANCE = 0.02;
/** How much busier the core of a tool is than that of the server, if it is the limit. */
const BUSIER_RATIO = 1.2;
/** Of the load in which heads come before their bodies. */
export const HEAD_FIRST_CONNECTIONS = 5;
/** Those that need the least CPU for a request. */
const RIVALS = ['wrk', 'ab'];
const IN_JAVASCRIPT = ['loadtest', 'loadtest --tcp', 'autocannon'];

export function checkClaims(
  scenarios: Scenario[],
  runs: ToolRun[],
  headFirst: HeadFirstRun[],
): Claim[] {
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

/** Millrace against the peers that do the most with their CPU, the first of which is measured against. */
function checkPerCore(name: string, cells: ToolResult[]): Claim {
  const own = cells.find(({ tool }) => tool === 'millrace');
  const rivals = RIVALS.flatMap((rival) => cells.find(({ tool }) => tool === rival) ?? []);
  const compared = own ? rivals.flatMap((rival) => compare(own, rival) ?? []) : [];
  const list = compared.map(({ text }) => text).join(', ');
  return {
    text: `${name}: for each second of its CPU millrace makes at least as many requests as ${rivals[0]?.tool ?? RIVALS[0]}${list === '' ? '' : `: against ${list}`}`,
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
    text: `${rival.tool} ${ratio.toFixed(2)} x (${range})`,
    held: low >= 1 ? true : high < 1 ? false : null,
  };
}

function checkCounts(whose: string, runs: ToolRun[]): Claim {
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
    text: `${whose} counts the requests that the server counts, within ${COUNT_TOLERANCE * 100} % and one for each connection${exceptions.length > 0 ? `, but ${exceptions.join('; ')}` : ''}`,
    held: runs.length === 0 ? null : wrong.length === 0,
  };
}

/** A request may be on its way on each connection when a tool ends. */
function isConsistent(reported: number, counted: number, connections: number): boolean {
  return Math.abs(reported - counted) <= COUNT_TOLERANCE * counted + connections;
}

function checkKeepAlive(scenarios: Scenario[], runs: ToolRun[], tools: string[]): Claim {
  const [close, kept] = [true, false].map((how) =>
    scenarios.find((one) => one.server === 'own' && one.processes === 1 && one.close === how),
  );
  const ratios = tools.flatMap((tool) => {
    const [without, withIt] = [close, kept].map((one) => one && summarizeRuns(runs, tool, one));
    if (!without?.countedRate || !withIt?.countedRate) return [];
    return { tool, ratio: withIt.countedRate / without.countedRate };
  });
  const list = ratios.map(({ tool, ratio }) => `${tool} ${ratio.toFixed(1)} x`).join(', ');
  return {
    text: `a connection for each request costs: keep-alive gives more${list === '' ? '' : `: ${list}`}`,
    held: ratios.length === 0 ? null : ratios.every(({ ratio }) => ratio > 1),
  };
}

/** Why tools in JavaScript that are fast against Node are slow against nginx. */
function checkToolLimit(cells: ToolResult[]): Claim {
  const busy = cells.flatMap(({ tool, toolCores, serverCores }) =>
    IN_JAVASCRIPT.includes(tool) && toolCores !== null && serverCores !== null
      ? [{ tool, toolCores, serverCores }]
      : [],
  );
  const list = busy
    .map((one) => `${one.tool} ${cores(one.toolCores)} cores to ${cores(one.serverCores)}`)
    .join(', ');
  return {
    text: `against nginx the tools in JavaScript measure themselves, their core is the busier one${list === '' ? '' : `: ${list}`}`,
    held:
      busy.length === 0
        ? null
        : busy.every(({ toolCores, serverCores }) => toolCores >= BUSIER_RATIO * serverCores),
  };
}

function checkHeadFirst(all: HeadFirstRun[]): Claim {
  const [own, trick] = ['millrace', 'loadtest --tcp'].map((name) =>
    all.find(({ tool }) => tool === name),
  );
  const measured = own && !('failure' in own) ? own : null;
  const others = trick
    ? `; loadtest --tcp, which goes by the length of packets: ${describeRun(trick)}`
    : '';
  return {
    text: `millrace reads answers whose head comes before their body${own ? `: ${describeRun(own)}` : ''}${others}`,
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

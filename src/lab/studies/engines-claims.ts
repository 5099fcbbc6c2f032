import { cores, count } from '../../format/units.js';
import { ratioOf } from '../../statistics/ratio.js';
import type { Fault, Measured } from '../peers/peer-measure.js';
import type { Claim } from '../result.js';
import { type Cell, CONNECTIONS, cellOf, nameOf, type Run, type Scenario } from './engines-run.js';

/** What a tool made of heads that come before their bodies. */
export type HeadFirst = { tool: string } & (Measured | Fault);

/** Of 1: how far the count of a tool may be from that of the server. */
const SAME = 0.02;
/** How much busier the core of a tool is than that of the server, if it is the limit. */
const BUSIER = 1.2;
/** Of the load in which heads come before their bodies. */
export const HEAD_FIRST_CONNECTIONS = 5;
/** Those that need the least CPU for a request. */
const RIVALS = ['wrk', 'ab'];
const IN_JAVASCRIPT = ['loadtest', 'loadtest --tcp', 'autocannon'];

export function claimsOf(scenarios: Scenario[], runs: Run[], headFirst: HeadFirst[]): Claim[] {
  const tools = [...new Set(runs.map(({ tool }) => tool))];
  const cells = (scenario: Scenario) => tools.flatMap((tool) => cellOf(runs, tool, scenario) ?? []);
  return [
    ...scenarios.map((scenario) => perCoreClaim(nameOf(scenario), cells(scenario))),
    countClaim('millrace', runs.filter(isOwn)),
    countClaim(
      'each of the others',
      runs.filter((run) => !isOwn(run)),
    ),
    keepAliveClaim(scenarios, runs, tools),
    limitClaim(scenarios.filter(isNginxKept).flatMap(cells)),
    headFirstClaim(headFirst),
  ];
}

/** Millrace against the peers that do the most with their CPU, the first of which is measured against. */
function perCoreClaim(name: string, cells: Cell[]): Claim {
  const own = cells.find(({ tool }) => tool === 'millrace');
  const rivals = RIVALS.flatMap((rival) => cells.find(({ tool }) => tool === rival) ?? []);
  const compared = own ? rivals.flatMap((rival) => comparison(own, rival) ?? []) : [];
  const list = compared.map(({ text }) => text).join(', ');
  return {
    text: `${name}: for each second of its CPU millrace makes at least as many requests as ${rivals[0]?.tool ?? RIVALS[0]}${list === '' ? '' : `: against ${list}`}`,
    held: compared[0]?.held ?? null,
  };
}

function comparison(own: Cell, rival: Cell): { text: string; held: boolean | null } | null {
  const pairs = rival.perCoreRuns.flatMap((before, index) => {
    const after = own.perCoreRuns[index];
    return after === undefined ? [] : [[before, after] as const];
  });
  if (pairs.length === 0) return null;
  const { ratio, low, high } = ratioOf(pairs);
  const range = pairs.length < 2 ? 'one run each' : `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return {
    text: `${rival.tool} ${ratio.toFixed(2)} x (${range})`,
    held: low >= 1 ? true : high < 1 ? false : null,
  };
}

function countClaim(whose: string, runs: Run[]): Claim {
  const wrong = runs.filter(({ told, counted }) => !agrees(told.requests, counted, CONNECTIONS));
  const listed = new Map(
    wrong.map(({ tool, scenario, told, counted }) => [
      `${tool}, ${nameOf(scenario)}`,
      `${count(told.requests)} of ${count(counted)}`,
    ]),
  );
  const exceptions = [...listed].map(([what, counts]) => `${what}: ${counts}`);
  return {
    text: `${whose} counts the requests that the server counts, within ${SAME * 100} % and one for each connection${exceptions.length > 0 ? `, but ${exceptions.join('; ')}` : ''}`,
    held: runs.length === 0 ? null : wrong.length === 0,
  };
}

/** A request may be on its way on each connection when a tool ends. */
function agrees(told: number, counted: number, connections: number): boolean {
  return Math.abs(told - counted) <= SAME * counted + connections;
}

function keepAliveClaim(scenarios: Scenario[], runs: Run[], tools: string[]): Claim {
  const [close, kept] = [true, false].map((how) =>
    scenarios.find((one) => one.server === 'own' && one.processes === 1 && one.close === how),
  );
  const ratios = tools.flatMap((tool) => {
    const [without, withIt] = [close, kept].map((one) => one && cellOf(runs, tool, one));
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
function limitClaim(cells: Cell[]): Claim {
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
        : busy.every(({ toolCores, serverCores }) => toolCores >= BUSIER * serverCores),
  };
}

function headFirstClaim(all: HeadFirst[]): Claim {
  const [own, trick] = ['millrace', 'loadtest --tcp'].map((name) =>
    all.find(({ tool }) => tool === name),
  );
  const told = own && !('fault' in own) ? own : null;
  const others = trick
    ? `; loadtest --tcp, which goes by the length of packets: ${inWords(trick)}`
    : '';
  return {
    text: `millrace reads answers whose head comes before their body${own ? `: ${inWords(own)}` : ''}${others}`,
    held: own
      ? told !== null &&
        told.told.errors === 0 &&
        agrees(told.told.requests, told.counted, HEAD_FIRST_CONNECTIONS)
      : null,
  };
}

function inWords(one: HeadFirst): string {
  if ('fault' in one) return one.fault;
  return `${count(one.told.requests)} of ${count(one.counted)}, ${count(one.told.errors)} errors`;
}

function isNginxKept({ server, processes, close }: Scenario): boolean {
  return server === 'nginx' && processes === 1 && !close;
}

function isOwn({ tool }: Run): boolean {
  return tool === 'millrace';
}

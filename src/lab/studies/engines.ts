import { rm } from 'node:fs/promises';
import { withTemporaryFolder } from '../../process/temporary-folder.js';
import { type CountingServer, startNginx, startOwnServer } from '../peers/counting-server.js';
import { type FoundPeer, findPeers, findProgram } from '../peers/find-peer.js';
import { startHeadFirstServer } from '../peers/head-first.js';
import { measurePeer } from '../peers/peer-measure.js';
import { PEERS } from '../peers/peers.js';
import { type CoreAssignment, chooseCores } from '../peers/pinning.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { checkClaims, HEAD_FIRST_CONNECTIONS, type HeadFirstRun } from './engines-claims.js';
import { CONNECTIONS, formatScenario, type Scenario, type ToolRun } from './engines-run.js';
import { describeSetup } from './engines-setup.js';
import { buildFigures, buildTable } from './engines-tables.js';

/** With `--quick` those that the study had. */
const QUICK = ['loadtest', 'loadtest --tcp', 'autocannon', 'ab', 'wrk', 'millrace'];
/** What is compared closely is measured more often. */
const CONTENDERS = ['ab', 'wrk', 'millrace'];
const ROUNDS = { quick: 2, full: 3 };
/** With more of them there is no time for all rounds. */
const FEW_SCENARIOS = 4;

export const engines: Study = {
  name: 'engines',
  title: 'A load tester on raw sockets',
  original:
    '2023, Node 18 on a six-core desktop: the loadtest package, with http and with bare sockets, and its peers',
  question: 'How much of a load test is the load tester?',
  seconds: { quick: 52, full: 210 },
  repeat,
};

/** What a run needs to know. */
interface EnginesRun {
  bench: Bench;
  cores: CoreAssignment;
  found: FoundPeer[];
  nginx: string | null;
  /** For the files of tools. */
  folder: string;
  seconds: number;
  runs: ToolRun[];
  /** Why there is no run, by tool and scenario. */
  failures: Map<string, string>;
}

async function repeat(bench: Bench): Promise<StudyFindings> {
  const { quick } = bench;
  const [cores, nginx] = [chooseCores(), findProgram('nginx')];
  const known = quick ? PEERS.filter(({ name }) => QUICK.includes(name)) : PEERS;
  const folder = await withTemporaryFolder('millrace-engines', async (made) => made);
  const { found, missing } = await findPeers(known, folder);
  const scenarios = listScenarios(quick, cores, nginx);
  const seconds = quick ? 1 : 2;
  const [runs, failures]: [ToolRun[], Map<string, string>] = [[], new Map()];
  const measuring = { bench, cores, found, nginx, folder, seconds, runs, failures };
  try {
    for (const scenario of scenarios) {
      await measureAll(measuring, scenario, countRounds(scenario, scenarios, quick));
    }
    const headFirst = await measureHeadFirst(measuring);
    const cause = await bench.explain({ name: 'hello' }, { connections: CONNECTIONS });
    return {
      tables: scenarios.map((scenario) => buildTable(scenario, runs)),
      figures: buildFigures(scenarios, runs),
      causes: [cause],
      changes: CHANGES,
      claims: checkClaims(scenarios, runs, headFirst),
      setup: [
        ...describeSetup({ found, cores, nginx, seconds, connections: CONNECTIONS }),
        ...bench.setup,
      ],
      missing: [
        ...missing.map(({ name }) => `${name}: not found`),
        ...(nginx === null ? ['nginx: not found'] : []),
        ...describeMissing(quick, cores),
        ...failures.values(),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const CHANGES = [
  'The engine is no JavaScript: a request is one read, one write, one look at the clock and two counts, and nothing is allocated for it. Threads share nothing.',
  'A response is read by what it says of its length, always. The length of a packet says nothing: a head that comes before its body has the length of the head before, and who takes it for a response is one behind from then on.',
  'The cores of both sides stand in the table, and the fuller one is the limit. Against nginx that is the core of each tool in JavaScript: its rate is what its own CPU time per request allows. Millrace says so of itself in each of its reports.',
  'The table is one command; so is the server on all cores: millrace testserver. TLS goes the same way as plain sockets: --tls keep-alive, resume or full.',
];

/** Those of then, and nginx without keep-alive. */
function listScenarios(
  quick: boolean,
  { several }: CoreAssignment,
  nginx: string | null,
): Scenario[] {
  const processes = several?.processes ?? 0;
  const all: (Scenario | false)[] = [
    { server: 'own', processes: 1, close: true },
    { server: 'own', processes: 1, close: false },
    processes > 0 && !quick && { server: 'own', processes, close: true },
    processes > 0 && !quick && { server: 'own', processes, close: false },
    nginx !== null && !quick && { server: 'nginx', processes: 1, close: true },
    nginx !== null && { server: 'nginx', processes: 1, close: false },
    nginx !== null && processes > 0 && !quick && { server: 'nginx', processes, close: false },
  ];
  return all.filter((one) => one !== false);
}

/** How often those that are compared closely run again. */
function countRounds(scenario: Scenario, scenarios: Scenario[], quick: boolean): number {
  if (quick) return scenario === scenarios.at(-1) ? ROUNDS.quick : 0;
  return scenarios.length <= FEW_SCENARIOS ? ROUNDS.full : 1;
}

/** All tools against one server, and some of them in further rounds, each in reverse: what drifts falls on all alike. */
async function measureAll(
  measuring: EnginesRun,
  scenario: Scenario,
  rounds: number,
): Promise<void> {
  const { bench, found, folder, seconds, cores, runs, failures } = measuring;
  const server = await startServer(measuring, scenario);
  if (server === null) return;
  const measure = (one: FoundPeer, length: number) =>
    measurePeer(
      one,
      server,
      { connections: CONNECTIONS, seconds: length, close: scenario.close, folder },
      { cores: cores.tool, signal: bench.signal },
    );
  const again = found.filter(({ peer }) => CONTENDERS.includes(peer.name));
  const order = [...found];
  for (let round = 0; round < rounds; round += 1) {
    order.push(...(round % 2 === 0 ? again.toReversed() : again));
  }
  try {
    const own = found.find(({ peer }) => peer.name === 'millrace');
    // The first tool is not to meet a server whose code is still being compiled.
    if (own && scenario.server === 'own') await measure(own, 1);
    for (const one of order) {
      const tool = one.peer.name;
      const what = `${tool}, ${formatScenario(scenario)}`;
      if (failures.has(what)) continue;
      bench.step(what);
      const measured = await measure(one, seconds);
      if ('failure' in measured) failures.set(what, `${what}: ${measured.failure}`);
      else runs.push({ tool, scenario, ...measured });
    }
  } finally {
    await server.close();
  }
}

/** `null`: an nginx that does not start, which is a fault. */
async function startServer(
  { bench: { signal }, cores, nginx, failures }: EnginesRun,
  { server, processes }: Scenario,
): Promise<CountingServer | null> {
  const pinned = processes > 1 ? (cores.several?.cores ?? null) : cores.server;
  if (server === 'own') return startOwnServer(processes, pinned);
  try {
    return await startNginx(nginx ?? 'nginx', processes, pinned, signal);
  } catch (error) {
    signal.throwIfAborted();
    failures.set('nginx', `nginx: ${(error as Error).message}`);
    return null;
  }
}

/** What the trick with the length of packets comes to, and what millrace makes of the same answers. */
async function measureHeadFirst({ bench, found, folder }: EnginesRun): Promise<HeadFirstRun[]> {
  const all: HeadFirstRun[] = [];
  for (const tool of ['loadtest --tcp', 'millrace']) {
    const one = found.find(({ peer }) => peer.name === tool);
    if (!one) continue;
    bench.step(`${tool}, heads that come before their bodies`);
    const server = await startHeadFirstServer();
    try {
      const load = { connections: HEAD_FIRST_CONNECTIONS, seconds: 1, close: false, folder };
      const options = { cores: null, signal: bench.signal };
      all.push({ tool, ...(await measurePeer(one, server, load, options)) });
    } finally {
      await server.close();
    }
  }
  return all;
}

function describeMissing(quick: boolean, { several }: CoreAssignment): string[] {
  const left = PEERS.filter(({ name }) => !QUICK.includes(name)).map(({ name }) => name);
  return [
    ...(quick
      ? [`without --quick: ${left.join(', ')}, nginx without keep-alive, servers on several cores`]
      : several === null
        ? ['servers on several cores: there are none left beside the core of the tool']
        : []),
    'bare sockets: no tool, but a step of the study, in which nothing was parsed',
  ];
}

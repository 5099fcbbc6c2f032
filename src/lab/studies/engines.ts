import { rm } from 'node:fs/promises';
import { inTemporaryFolder } from '../../process/temporary-folder.js';
import { type CountingServer, startNginx, startOwnServer } from '../peers/counting-server.js';
import { type FoundPeer, findPeers, programIn } from '../peers/find-peer.js';
import { startHeadFirstServer } from '../peers/head-first.js';
import { measurePeer } from '../peers/peer-measure.js';
import { PEERS } from '../peers/peers.js';
import { type Places, placesHere } from '../peers/pinning.js';
import type { Bench, Findings, Study } from '../study.js';
import { claimsOf, HEAD_FIRST_CONNECTIONS, type HeadFirst } from './engines-claims.js';
import { CONNECTIONS, nameOf, type Run, type Scenario } from './engines-run.js';
import { setupOf } from './engines-setup.js';
import { figuresOf, tableOf } from './engines-tables.js';

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
interface Measuring {
  bench: Bench;
  places: Places;
  found: FoundPeer[];
  nginx: string | null;
  /** For the files of tools. */
  folder: string;
  seconds: number;
  runs: Run[];
  /** Why there is no run, by tool and scenario. */
  faults: Map<string, string>;
}

async function repeat(bench: Bench): Promise<Findings> {
  const { quick } = bench;
  const [places, nginx] = [placesHere(), programIn('nginx')];
  const known = quick ? PEERS.filter(({ name }) => QUICK.includes(name)) : PEERS;
  const folder = await inTemporaryFolder('millrace-engines', async (made) => made);
  const { found, missing } = await findPeers(known, folder);
  const scenarios = scenariosOf(quick, places, nginx);
  const seconds = quick ? 1 : 2;
  const [runs, faults]: [Run[], Map<string, string>] = [[], new Map()];
  const measuring = { bench, places, found, nginx, folder, seconds, runs, faults };
  try {
    for (const scenario of scenarios) {
      await measureAll(measuring, scenario, roundsOf(scenario, scenarios, quick));
    }
    const headFirst = await measureHeadFirst(measuring);
    const cause = await bench.explain({ name: 'hello' }, { connections: CONNECTIONS });
    return {
      tables: scenarios.map((scenario) => tableOf(scenario, runs)),
      figures: figuresOf(scenarios, runs),
      causes: [cause],
      changes: CHANGES,
      claims: claimsOf(scenarios, runs, headFirst),
      setup: [
        ...setupOf({ found, places, nginx, seconds, connections: CONNECTIONS }),
        ...bench.setup,
      ],
      missing: [
        ...missing.map(({ name }) => `${name}: not found`),
        ...(nginx === null ? ['nginx: not found'] : []),
        ...notMeasured(quick, places),
        ...faults.values(),
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
function scenariosOf(quick: boolean, { several }: Places, nginx: string | null): Scenario[] {
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
function roundsOf(scenario: Scenario, scenarios: Scenario[], quick: boolean): number {
  if (quick) return scenario === scenarios.at(-1) ? ROUNDS.quick : 0;
  return scenarios.length <= FEW_SCENARIOS ? ROUNDS.full : 1;
}

/** All tools against one server, and some of them in further rounds, each in reverse: what drifts falls on all alike. */
async function measureAll(measuring: Measuring, scenario: Scenario, rounds: number): Promise<void> {
  const { bench, found, folder, seconds, places, runs, faults } = measuring;
  const server = await start(measuring, scenario);
  if (server === null) return;
  const measure = (one: FoundPeer, length: number) =>
    measurePeer(
      one,
      server,
      { connections: CONNECTIONS, seconds: length, close: scenario.close, folder },
      { cores: places.tool, signal: bench.signal },
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
      const what = `${tool}, ${nameOf(scenario)}`;
      if (faults.has(what)) continue;
      bench.step(what);
      const measured = await measure(one, seconds);
      if ('fault' in measured) faults.set(what, `${what}: ${measured.fault}`);
      else runs.push({ tool, scenario, ...measured });
    }
  } finally {
    await server.close();
  }
}

/** `null`: an nginx that does not start, which is a fault. */
async function start(
  { bench: { signal }, places, nginx, faults }: Measuring,
  { server, processes }: Scenario,
): Promise<CountingServer | null> {
  const cores = processes > 1 ? (places.several?.cores ?? null) : places.server;
  if (server === 'own') return startOwnServer(processes, cores);
  try {
    return await startNginx(nginx ?? 'nginx', processes, cores, signal);
  } catch (error) {
    signal.throwIfAborted();
    faults.set('nginx', `nginx: ${(error as Error).message}`);
    return null;
  }
}

/** What the trick with the length of packets comes to, and what millrace makes of the same answers. */
async function measureHeadFirst({ bench, found, folder }: Measuring): Promise<HeadFirst[]> {
  const all: HeadFirst[] = [];
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

function notMeasured(quick: boolean, { several }: Places): string[] {
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

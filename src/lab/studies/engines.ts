import { rm } from 'node:fs/promises';
import { withTemporaryFolder } from '../../process/temporary-folder.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import { type CountingServer, startNginx, startOwnServer } from '../peers/counting-server.js';
import { type FoundPeer, findPeers, findProgram } from '../peers/find-peer.js';
import { startHeadFirstServer } from '../peers/head-first.js';
import { measurePeer } from '../peers/peer-measure.js';
import { PEERS } from '../peers/peers.js';
import { type CoreAssignment, chooseCores } from '../peers/pinning.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { checkClaims, HEAD_FIRST_CONNECTIONS, type HeadFirstRun } from './engines-claims.js';
import { CONNECTIONS, formatScenario } from './engines-run.js';
import { describeSetup } from './engines-setup.js';
import { buildFigures, buildTable } from './engines-tables.js';
import type { Scenario, ToolRun } from './engines-types.js';

/** The tools of a quick run: those of the original study. */
const QUICK = ['loadtest', 'loadtest --tcp', 'autocannon', 'ab', 'wrk', 'millrace'];
/** The tools that are compared closely, and therefore measured repeatedly. */
const CONTENDERS = ['ab', 'wrk', 'millrace'];
const ROUNDS = { quick: 2, full: 3 };
/** Number of scenarios up to which there is time for all rounds. */
const FEW_SCENARIOS = 4;

export const engines: Study = { ...STUDY_DESCRIPTIONS.engines, repeat };

/** The state of a run of the study. */
interface EnginesRun {
  bench: Bench;
  cores: CoreAssignment;
  found: FoundPeer[];
  nginx: string | null;
  /** Folder for the files of the tools. */
  folder: string;
  seconds: number;
  runs: ToolRun[];
  /** Reasons for missing runs, by tool and scenario. */
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
  'The engine is native code: a request takes one read, one write, one reading of the clock and two counters, and allocates nothing. Threads share nothing.',
  'A response always ends where its own framing says so. The length of a packet says nothing: a head that arrives before its body has the same length as the head before it, and a tool that takes it for a whole response counts wrongly from then on.',
  'The table shows the CPU of both sides; the busier one is the limit. Against nginx that is each tool in JavaScript: its rate is determined by its own CPU time per request. Millrace reports this about itself in every report.',
  'One command makes the table, and one starts a server on all cores: millrace testserver. TLS is measured the same way: --tls keep-alive, resume or full.',
];

/** Lists the scenarios of the original study, and nginx without keep-alive. */
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

/** Counts the additional rounds of the tools that are compared closely. */
function countRounds(scenario: Scenario, scenarios: Scenario[], quick: boolean): number {
  if (quick) return scenario === scenarios.at(-1) ? ROUNDS.quick : 0;
  return scenarios.length <= FEW_SCENARIOS ? ROUNDS.full : 1;
}

/** Runs all tools against one server, and some in further rounds of alternating order, so that drift affects all equally. */
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
    // Warms up the server, so that its code is compiled before the first tool runs.
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

/** Starts the server of a scenario; `null`, with a recorded failure, if nginx does not start. */
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

/** Measures responses whose head precedes the body: with a tool that goes by the length of packets, and with millrace. */
async function measureHeadFirst({ bench, found, folder }: EnginesRun): Promise<HeadFirstRun[]> {
  const all: HeadFirstRun[] = [];
  for (const tool of ['loadtest --tcp', 'millrace']) {
    const one = found.find(({ peer }) => peer.name === tool);
    if (!one) continue;
    bench.step(`${tool}, heads sent before bodies`);
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
        ? ['servers on several cores: this machine has too few cores']
        : []),
    'bare sockets: a step of the original study, without parsing, not a tool',
  ];
}

import { availableParallelism } from 'node:os';
import { count, rate, time } from '../../format/units.js';
import type { LoadOptions } from '../../load/options.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import type { LabClaim, LabFigure, LabTable } from '../result.js';
import type { ServiceSetting } from '../service.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { createBars, createColumnPair } from '../tables.js';

/** How requests use connections: a persistent one or one for each request, without and with TLS. */
const CONNECTION_MODES = [
  { id: 'keep-alive', load: {}, tls: false },
  { id: 'close', load: { connection: 'close' }, tls: false },
  { id: 'TLS keep-alive', load: {}, tls: true },
  { id: 'TLS reconnect', load: { connection: 'close', handshake: 'resume' }, tls: true },
  { id: 'TLS full', load: { connection: 'close', handshake: 'full' }, tls: true },
] as const satisfies { id: string; load: LoadOptions; tls: boolean }[];
type ConnectionMode = (typeof CONNECTION_MODES)[number];

const STACKS = [
  { id: 'built-in', native: false, cached: false },
  { id: 'native', native: true, cached: false },
  { id: 'native, 1 s output cache', native: true, cached: true },
] as const;
type Stack = (typeof STACKS)[number];

/** Figures of the original study for one process and for four: requests per second, and p95; `null`: not reported. */
const ORIGINAL_FIGURES: Record<string, ([rate: number, p95Ms: number | null] | null)[]> = {
  '1 built-in': [
    [12_461, 17],
    [3752, null],
    [5651, 36],
    [1357, 672],
    [532, 1440],
  ],
  '1 native': [
    [17_364, 13],
    [15_686, 25],
    [14_495, 15],
    [7382, 101],
    [747, 1168],
  ],
  '1 native, 1 s output cache': [
    [159_902, 3],
    [35_624, 18],
    [109_148, 5],
    [9824, 136],
    [742, 1040],
  ],
  'n built-in': [
    [34_003, null],
    [10_225, null],
    [14_941, null],
    [1507, null],
    [1338, null],
  ],
  'n native': [
    [34_760, null],
    [20_324, null],
    [27_834, null],
    [8178, null],
    [754, null],
  ],
};

/** The result of one stack in one mode. */
interface StackResult {
  stack: Stack['id'];
  mode: ConnectionMode['id'];
  processes: number;
  rate: number;
  p95Ms: number | null;
}

const CONNECTIONS = 100;
/** Difference that two single runs may have by chance. */
const TOLERANCE = 0.05;

export const stacks: Study = { ...STUDY_DESCRIPTIONS.stacks, repeat };

async function repeat(bench: Bench): Promise<StudyFindings> {
  const cores = availableParallelism();
  const several = bench.quick || cores < 2 ? [] : [Math.min(4, cores)];
  const cells: StackResult[] = [];
  for (const processes of [1, ...several]) {
    // The stacks run one after the other in each mode, so that drift affects all of them.
    for (const mode of CONNECTION_MODES) {
      for (const stack of selectStacks(processes)) {
        bench.step(`${stack.id}, ${mode.id}, ${processes} of ${cores} cores`);
        cells.push(await measure(bench, stack, mode, processes));
      }
    }
  }
  const cause = await bench.explain(buildSetting(STACKS[0], CONNECTION_MODES[0], 1), {
    connections: CONNECTIONS,
  });
  return {
    tables: [1, ...several].map((processes) => buildTable(processes, cells)),
    figures: buildFigures(cells, 1),
    causes: [cause],
    changes: [
      'node --import millrace/register app.js: the same API and the same objects, on a stack that parses, frames and encrypts in native code. No line of the application changes.',
      'MILLRACE_CACHE_DURATION=1 caches responses for a second where that is allowed; hits never enter JavaScript.',
      'millrace explain shows whether an application spends its time on HTTP: one that computes for a millisecond gains little from a faster stack.',
    ],
    claims: checkClaims(cells),
    setup: bench.setup,
    missing: [
      ...(cores < 4
        ? [
            `four processes: this machine has ${cores} cores, and the load generator needs one of them`,
          ]
        : []),
      ...(bench.quick ? ['several processes: without --quick'] : []),
    ],
  };
}

/** Selects the stacks to measure: with several processes the original study had no cache. */
function selectStacks(processes: number): readonly Stack[] {
  return processes === 1 ? STACKS : STACKS.filter(({ cached }) => !cached);
}

async function measure(
  bench: Bench,
  stack: Stack,
  mode: ConnectionMode,
  processes: number,
): Promise<StackResult> {
  const setting = buildSetting(stack, mode, processes);
  const { rate, latencyMs } = await bench.withService(setting, (service) =>
    bench.load(service, {
      connections: CONNECTIONS,
      ...mode.load,
      ...(mode.tls && { insecure: true }),
      warmup: bench.quick ? 500 : 2000,
      duration: bench.quick ? 1000 : 5000,
    }),
  );
  return { stack: stack.id, mode: mode.id, processes, rate, p95Ms: latencyMs.p95 };
}

function buildSetting(
  { native, cached }: Stack,
  { tls }: ConnectionMode,
  processes: number,
): ServiceSetting {
  const env = {
    ...(tls && { TLS: '1' }),
    ...(processes > 1 && { PROCESSES: String(processes) }),
    ...(cached && { MILLRACE_CACHE_DURATION: '1' }),
  };
  return { name: 'hello', env, native };
}

function buildTable(processes: number, cells: StackResult[]): LabTable {
  const rows = CONNECTION_MODES.flatMap((mode, index) =>
    selectStacks(processes).map(({ id }) => {
      const then = ORIGINAL_FIGURES[`${processes === 1 ? '1' : 'n'} ${id}`]?.[index];
      const now = findResult(cells, id, mode.id, processes);
      return {
        name: `${mode.id}: ${id}`,
        cells: [then?.[0] ?? null, now?.rate ?? null, then?.[1] ?? null, now?.p95Ms ?? null],
      };
    }),
  );
  return {
    title: processes === 1 ? 'One process' : `${count(processes)} processes now, four then`,
    rowsAre: 'requests: stack',
    columns: [...createColumnPair('req/s', 'rate'), ...createColumnPair('p95', 'time')],
    rows,
  };
}

function buildFigures(cells: StackResult[], processes: number): LabFigure[] {
  const groups = (of: (cell: StackResult) => number | null) =>
    CONNECTION_MODES.map((mode) => ({
      name: mode.id,
      bars: cells
        .filter((cell) => cell.mode === mode.id && cell.processes === processes)
        .map((cell) => ({ name: cell.stack, value: of(cell) })),
    }));
  return [
    createBars(
      'Throughput',
      `Responses per second of one process, ${CONNECTIONS} connections.`,
      'rate',
      groups(({ rate }) => rate),
    ),
    createBars(
      'Latency',
      '95th percentile until the last byte, at the throughput above.',
      'time',
      groups(({ p95Ms }) => p95Ms),
    ),
  ];
}

function checkClaims(cells: StackResult[]): LabClaim[] {
  return CONNECTION_MODES.map(({ id }) => {
    const [node, native] = [
      findResult(cells, 'built-in', id, 1),
      findResult(cells, 'native', id, 1),
    ];
    const cached = findResult(cells, 'native, 1 s output cache', id, 1);
    if (!node || !native) return { text: `${id}: native is faster`, held: null };
    const gain = (cell: StackResult) => `${(cell.rate / node.rate).toFixed(2)}x`;
    return {
      text: `${id}: native is faster than built-in, by more than ${TOLERANCE * 100} %: ${gain(native)} (${rate(native.rate)} against ${rate(node.rate)} req/s, p95 ${time(native.p95Ms)} against ${time(node.p95Ms)})${cached ? `, from the cache ${gain(cached)}` : ''}`,
      held: isFaster(native.rate / node.rate),
    };
  });
}

/** Whether a ratio of throughput is above 1; `null` if it is too close to 1 to decide. */
function isFaster(ratio: number): boolean | null {
  if (Math.abs(ratio - 1) <= TOLERANCE) return null;
  return ratio > 1;
}

function findResult(
  cells: StackResult[],
  stack: Stack['id'],
  mode: ConnectionMode['id'],
  processes: number,
): StackResult | undefined {
  return cells.find(
    (cell) => cell.stack === stack && cell.mode === mode && cell.processes === processes,
  );
}

import { share, time } from '../../format/units.js';
import { median } from '../../statistics/median.js';
import { estimateRatio } from '../../statistics/ratio.js';
import type { MeasuredRatio } from '../../statistics/types.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import type { LabClaim, LabFigure, LabTable } from '../result.js';
import type { ServiceSetting } from '../service.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { createBars, createColumn } from '../tables.js';

const ECHO_MODES = ['pipe', 'buffer', 'chunks', 'readable'] as const;
type EchoMode = (typeof ECHO_MODES)[number];

const MODE_NAMES: Record<EchoMode, string> = {
  pipe: 'req.pipe(res)',
  buffer: 'collect, then write and end',
  chunks: 'write each chunk, then end',
  readable: 'read in steps, then end',
};

/** The figures of the original study: responses per second, and latency. */
const ORIGINAL_FIGURES: Record<EchoMode, { rate: number; latencyMs: number }> = {
  pipe: { rate: 2000, latencyMs: 44 },
  buffer: { rate: 20_000, latencyMs: 4 },
  chunks: { rate: 2000, latencyMs: 44 },
  readable: { rate: 20_000, latencyMs: 4 },
};

/** The servers: Node as in the original study, current Node, and Millrace. */
const SERVERS = [
  { id: 'delayed', name: 'node:http with Nagle, as originally', noDelay: '0', native: false },
  { id: 'node', name: 'node:http', noDelay: '1', native: false },
  { id: 'native', name: 'Millrace', noDelay: '1', native: true },
] as const;
type EchoServer = (typeof SERVERS)[number];

/** Medians over the blocks of one way to respond on one server. */
interface EchoResult {
  server: EchoServer['id'];
  mode: EchoMode;
  /** Rate of each block, in order. */
  rates: number[];
  rate: number;
  latencyMs: number;
  /** Time between the first and the last byte of a response; `null` if it arrives in one piece. */
  gapMs: number | null;
  writes: number | null;
  bytesEach: number | null;
  /** Share of the responses that do not arrive in one piece. */
  inParts: number;
}

const LOAD = { connections: 100, method: 'POST', body: '0123456789' };
/** Tolerated difference between two ways to respond. */
const TOLERANCE = 0.05;

export const pipeVsBuffer: Study = { ...STUDY_DESCRIPTIONS['pipe-vs-buffer'], repeat };

async function repeat(bench: Bench): Promise<StudyFindings> {
  const echoed: EchoResult[] = [];
  for (const server of SERVERS) echoed.push(...(await measureModes(bench, server)));
  const cause = await bench.explain(buildSetting(SERVERS[0], 'pipe'), LOAD);
  const of = (server: EchoServer['id'], mode: EchoMode) =>
    echoed.find((one) => one.server === server && one.mode === mode);
  return {
    tables: SERVERS.map((server) => buildTable(server, echoed)),
    figures: buildFigures(echoed),
    causes: [cause],
    changes: [
      "No write blocks: Nagle's algorithm keeps the second part of the response in the kernel until the first is acknowledged, which the other side delays by 40 ms. Only an earlier acknowledgement removes the delay.",
      'Node has set noDelay since version 18, which removes the 40 ms. The remaining difference is two system calls and two segments per response instead of one, and the cost of req.pipe itself.',
      'On the native stack everything that is written within one turn of the event loop is sent by one system call.',
    ],
    claims: checkClaims(of),
    setup: bench.setup,
    missing: echoed.every(({ writes }) => writes === null)
      ? ['system calls: there is no /proc here']
      : ['system calls of Millrace: its stack uses sendmsg, which the system does not count'],
  };
}

/** Measures all ways to respond on one server, forwards and backwards, so that drift affects all equally. */
async function measureModes(bench: Bench, server: EchoServer): Promise<EchoResult[]> {
  const blocks = new Map<EchoMode, EchoBlock[]>();
  const order = bench.quick
    ? [...ECHO_MODES]
    : [...ECHO_MODES, ...ECHO_MODES.toReversed(), ...ECHO_MODES, ...ECHO_MODES.toReversed()];
  // Pairs that are compared closely are measured more often.
  if (bench.quick && server.native)
    order.push('buffer', 'pipe', 'pipe', 'buffer', 'buffer', 'pipe');
  for (const mode of order) {
    bench.step(`${server.name}: ${MODE_NAMES[mode]}`);
    const block = await measureBlock(bench, buildSetting(server, mode));
    blocks.set(mode, [...(blocks.get(mode) ?? []), block]);
  }
  return ECHO_MODES.map((mode) => {
    const all = blocks.get(mode) ?? [];
    const middle = (of: (block: (typeof all)[number]) => number | null) => {
      const values = all.flatMap((block) => of(block) ?? []);
      return values.length > 0 ? median(values) : null;
    };
    return {
      server: server.id,
      mode,
      rates: all.map(({ rate }) => rate),
      rate: middle((block) => block.rate) ?? 0,
      latencyMs: middle((block) => block.latencyMs) ?? 0,
      gapMs: middle((block) => block.gapMs),
      writes: middle((block) => block.writes),
      bytesEach: middle((block) => block.bytesEach),
      inParts: middle((block) => block.inParts) ?? 0,
    };
  });
}

type EchoBlock = Omit<EchoResult, 'server' | 'mode' | 'rates'>;

function measureBlock(bench: Bench, setting: ServiceSetting): Promise<EchoBlock> {
  return bench.withService(setting, async (service) => {
    const { rate, latencyMs, gapMs, writes, requests } = await bench.load(service, {
      ...LOAD,
      warmup: bench.quick ? 500 : 1500,
      duration: bench.quick ? 900 : 3000,
    });
    const inParts = gapMs.count / Math.max(1, requests.ok);
    return {
      rate,
      latencyMs: latencyMs.p50 ?? 0,
      gapMs: inParts > 0.5 ? gapMs.p50 : null,
      inParts,
      writes: writes?.perResponse ?? null,
      bytesEach: writes?.bytesEach ?? null,
    };
  });
}

function buildSetting({ noDelay, native }: EchoServer, mode: EchoMode): ServiceSetting {
  return { name: 'echo', env: { MODE: mode, NO_DELAY: noDelay }, native };
}

function buildTable({ id, name }: EchoServer, echoed: EchoResult[]): LabTable {
  const reported = id === 'delayed';
  return {
    title: name,
    rowsAre: 'way to respond',
    columns: [
      ...(reported
        ? ([
            { name: 'req/s', unit: 'rate', from: 'then' },
            { name: 'latency', unit: 'time', from: 'then' },
          ] as const)
        : []),
      createColumn('req/s', 'rate'),
      createColumn('latency, median', 'time'),
      createColumn('first to last byte', 'time'),
      createColumn('in parts', 'share'),
      createColumn('writes per response', 'decimal'),
      createColumn('bytes per write', 'count'),
    ],
    rows: echoed
      .filter(({ server }) => server === id)
      .map(({ mode, rate, latencyMs, gapMs, inParts, writes, bytesEach }) => ({
        name: MODE_NAMES[mode],
        cells: [
          ...(reported ? [ORIGINAL_FIGURES[mode].rate, ORIGINAL_FIGURES[mode].latencyMs] : []),
          rate,
          latencyMs,
          gapMs,
          inParts,
          writes,
          bytesEach,
        ],
      })),
  };
}

function buildFigures(echoed: EchoResult[]): LabFigure[] {
  const bars = (of: (one: EchoResult) => number | null) =>
    SERVERS.map(({ id, name }) => ({
      name,
      bars: echoed
        .filter(({ server }) => server === id)
        .map((one) => ({ name: MODE_NAMES[one.mode], value: of(one) })),
    }));
  return [
    createBars(
      'Throughput of the four echo servers',
      'Responses per second, 100 connections, 10 bytes.',
      'rate',
      bars(({ rate }) => rate),
    ),
    createBars(
      'Write calls per response',
      'By the main thread, which runs the event loop.',
      'decimal',
      bars(({ writes }) => writes),
    ),
  ];
}

function checkClaims(
  of: (server: EchoServer['id'], mode: EchoMode) => EchoResult | undefined,
): LabClaim[] {
  const ratio = (server: EchoServer['id']) =>
    compareBlocks(of(server, 'buffer'), of(server, 'pipe'));
  const then = of('delayed', 'pipe');
  const bufferThen = of('delayed', 'readable');
  const held = (value: number | null, test: (value: number) => boolean) =>
    value === null ? null : test(value);
  const [inNode, native] = [ratio('node'), ratio('native')];
  const inParts = of('native', 'pipe')?.inParts ?? null;
  const twice = of('node', 'pipe')?.writes ?? null;
  return [
    {
      text: `with Nagle, pipe waits for a TCP timer: ${time(then?.latencyMs ?? null)} against ${time(bufferThen?.latencyMs ?? null)} when reading in steps`,
      held: then && bufferThen ? then.latencyMs > 35 && bufferThen.latencyMs < 20 : null,
    },
    {
      text: `without Nagle, pipe writes twice per response: ${twice === null ? '?' : twice.toFixed(2)} system calls${inNode ? ` (and has ${formatRatio(inNode)} the throughput of buffer on node:http)` : ''}`,
      held: held(twice, (value) => value > 1.8),
    },
    {
      text: `on Millrace pipe is within ${TOLERANCE * 100} % of buffer, or faster${native ? `: ${formatRatio(native)}` : ''}`,
      // Decided only if the interval does not contain the bound.
      held:
        native === null
          ? null
          : native.low >= 1 - TOLERANCE
            ? true
            : native.high < 1 - TOLERANCE
              ? false
              : null,
    },
    {
      text: `on Millrace a piped response arrives in one piece: ${inParts === null ? '?' : share(inParts)} arrive in parts`,
      held: held(inParts, (value) => value < 0.02),
    },
  ];
}

/** Compares the throughput of two ways by pairs of blocks; `null` with fewer than two pairs. */
function compareBlocks(before?: EchoResult, after?: EchoResult): MeasuredRatio | null {
  const pairs = (after?.rates ?? []).flatMap((rate, index): [number, number][] => {
    const other = before?.rates[index];
    return other ? [[other, rate]] : [];
  });
  return pairs.length >= 2 ? estimateRatio(pairs) : null;
}

function formatRatio({ ratio, low, high }: MeasuredRatio): string {
  return `${ratio.toFixed(2)}x (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

import { bytes, count, duration } from '../../format/units.js';
import { sampleProcesses } from '../../process/sampling/process-tree-sampler.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import { type FloodResult, flood } from '../flood.js';
import type { LabClaim, LabFigure, LabPlot, LabTable } from '../result.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { createColumn, createColumnPair } from '../tables.js';

/** A flood of a server by one connection, with its effects. */
interface FloodRun extends FloodResult {
  name: string;
  native: boolean;
  /** Maximum number of requests in progress at a time. */
  inProgress: number;
  /** Memory before the flood and its maximum during it, in bytes; `null` if the system does not report it. */
  memory: { before: number; max: number } | null;
  progressOverTime: [seconds: number, requests: number][];
  memoryOverTime: [seconds: number, bytes: number][];
}

/**
 * Memory by which a server with a bound may grow, in bytes. V8's young generation, two halves of 16 MiB, grows by nearly as
 * much under any sustained load.
 */
const MAX_GROWTH_BYTES = 32 * 2 ** 20;
/** Line that the service prints when no request has been in progress for a while. */
const IDLE_LINE = 'in progress 0, at most 0';
/** Maximum wait for the last report of the service, which reports five times a second. */
const LAST_REPORT_MS = 5000;
const WARMUP = { connections: 50, warmup: 0 };

/** Figures of the original study and of later repetitions, with its high-water mark. */
const ORIGINAL_FIGURES = [
  { delay: '50', inProgress: 46_000, memory: 360e6 },
  { delay: '0-1000', inProgress: 27_672, memory: null },
];

export const pipelining: Study = { ...STUDY_DESCRIPTIONS.pipelining, repeat };

async function repeat(bench: Bench): Promise<StudyFindings> {
  const floods: FloodRun[] = [];
  const delays = (bench.quick ? ORIGINAL_FIGURES.slice(0, 1) : ORIGINAL_FIGURES).map(
    ({ delay }) => delay,
  );
  for (const delay of delays) {
    for (const native of [false, true]) floods.push(await runFlood(bench, delay, native));
  }
  const cause = await bench.explain(
    { name: 'in-progress', env: { DELAY_MS: '0-200' } },
    { connections: 10, pipelining: 16 },
  );
  return {
    tables: [buildTable(floods)],
    figures: floods[0] ? buildFigures(floods) : [],
    causes: [cause],
    changes: [
      'server.maxPipelinedRequests (256) limits the requests of a connection that are handled at once; nothing more is read until half of them are answered.',
      'server.responseTimeout answers 408 in order and closes the connection, so that a request without a response does not block those behind it for ever; server.maxRequestsInFlight answers 503.',
      'All three are limits of the native stack: node --import millrace/register app.js. HTTP/2 avoids head-of-line blocking.',
    ],
    claims: checkClaims(floods),
    setup: [
      ...bench.setup,
      ...delays.map(
        (delay) =>
          `after the warm-up, with DELAY_MS=${delay}: one connection, ${count(countRequests(bench, delay))} x GET /NUMBER in writes of 500, reading all the time`,
      ),
    ],
    missing: [
      ...delays.flatMap((delay) => describeFewerRequests(countRequests(bench, delay), delay)),
      ...(floods.every(({ memory }) => memory === null) ? ['memory: there is no /proc here'] : []),
    ],
  };
}

const ORIGINAL_REQUESTS = 500_000;

function countRequests({ quick }: Bench, delay: string): number {
  if (delay !== '50') return 10_000;
  return quick ? 40_000 : ORIGINAL_REQUESTS;
}

/** Notes that fewer requests than originally were sent, so that fewer can be in progress. */
function describeFewerRequests(requests: number, delay: string): string[] {
  if (requests === ORIGINAL_REQUESTS) return [];
  return [
    `the original number of requests with ${delay.replace('-', ' to ')} ms: ${count(requests)} here, ${count(ORIGINAL_REQUESTS)} then`,
  ];
}

async function runFlood(bench: Bench, delay: string, native: boolean): Promise<FloodRun> {
  const requests = countRequests(bench, delay);
  const name = `${native ? 'Millrace' : 'node:http'}, ${delay.replace('-', ' to ')} ms`;
  const lines: { atMs: number; max: number }[] = [];
  let onIdle = () => {};
  let onReport = () => {};
  const onLine = (line: string) => {
    if (line === IDLE_LINE) onIdle();
    const [, max] = /at most (\d+)/.exec(line) ?? [];
    if (max === undefined) return;
    lines.push({ atMs: performance.now(), max: Number(max) });
    onReport();
  };
  const env = { DELAY_MS: delay };
  return bench.withService({ name: 'in-progress', env, native, onLine }, async (service) => {
    // The warm-up lets the heap grow to its size under load.
    bench.step(`${name}: warming up`);
    await bench.load(service, { ...WARMUP, duration: bench.quick ? 1000 : 3000 });
    await new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    lines.length = 0;
    bench.step(`${name}: ${count(requests)} requests at once`);
    const begun = performance.now();
    const sampler = sampleProcesses(service.pid);
    const flooded = await flood(service.port, requests, {
      limitMs: bench.quick ? 30_000 : 300_000,
      signal: bench.signal,
    });
    const samples = sampler.stop(begun)?.series ?? [];
    // A server that reads and answers everything in one turn of its event loop has not reported yet.
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LAST_REPORT_MS);
      onReport = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    const [first] = samples;
    const seconds = (atMs: number) => (atMs - begun) / 1000;
    return {
      ...flooded,
      name,
      native,
      inProgress: Math.max(0, ...lines.map(({ max }) => max)),
      memory: first
        ? {
            before: first.rssMb * 1e6,
            max: Math.max(...samples.map(({ rssMb }) => rssMb)) * 1e6,
          }
        : null,
      progressOverTime: lines.map(({ atMs, max }) => [seconds(atMs), max]),
      memoryOverTime: samples.map(({ tMs, rssMb }) => [seconds(tMs), rssMb * 1e6]),
    };
  });
}

function buildTable(floods: FloodRun[]): LabTable {
  return {
    title: 'One connection that does not wait for responses',
    rowsAre: 'server, delay',
    columns: [
      ...createColumnPair('in progress, maximum', 'count'),
      ...createColumnPair('memory, maximum', 'bytes'),
      createColumn('memory, growth', 'bytes'),
      createColumn('answered in order', 'count'),
      createColumn('total time', 'time'),
    ],
    rows: floods.map(({ name, native, inProgress, memory, answered, durationMs }) => {
      const then = native
        ? undefined
        : ORIGINAL_FIGURES.find(({ delay }) => name.includes(`, ${delay.replace('-', ' to ')} `));
      return {
        name,
        cells: [
          then?.inProgress ?? null,
          inProgress,
          then?.memory ?? null,
          memory?.max ?? null,
          memory ? memory.max - memory.before : null,
          answered,
          durationMs,
        ],
      };
    }),
  };
}

function buildFigures(floods: FloodRun[]): LabFigure[] {
  const [node, native] = floods;
  const shown = [node, native].filter((one) => one !== undefined);
  const overTime = (
    title: string,
    caption: string,
    y: LabPlot['y'],
    points: (flooded: FloodRun) => [number, number][],
  ): LabFigure => ({
    kind: 'lines',
    title,
    caption,
    x: { name: 'seconds', unit: 'count', scale: 'linear' },
    y,
    series: shown.map((one) => ({ name: one.name, style: 'line', points: points(one) })),
    marks: [],
  });
  return [
    overTime(
      'Requests in progress',
      'Maximum in each fifth of a second, counted by the server.',
      { name: 'requests in progress', unit: 'count', scale: 'linear' },
      ({ progressOverTime }) => progressOverTime,
    ),
    overTime(
      'Memory of the server',
      'Resident memory, every tenth of a second.',
      { name: 'resident memory', unit: 'bytes', scale: 'linear' },
      ({ memoryOverTime }) => memoryOverTime,
    ),
  ];
}

function checkClaims(floods: FloodRun[]): LabClaim[] {
  return floods.flatMap(({ name, native, answered, failure, memory, inProgress, durationMs }) => {
    const order: LabClaim = {
      text: `${name}: all requests are answered in order: ${count(answered)} in ${duration(Math.round(durationMs / 100) * 100)}${failure ? `, then ${failure}` : ''}`,
      held: failure === null,
    };
    if (!native) return [order];
    const growth = memory ? memory.max - memory.before : null;
    return [
      order,
      {
        text: `${name}: never more than 256 in progress: ${count(inProgress)}`,
        held: inProgress > 0 ? inProgress <= 256 : null,
      },
      {
        text: `${name}: memory grows by less than ${bytes(MAX_GROWTH_BYTES)}${growth === null ? '' : `: ${bytes(Math.max(0, growth))}`}`,
        held: growth === null ? null : growth < MAX_GROWTH_BYTES,
      },
    ];
  });
}

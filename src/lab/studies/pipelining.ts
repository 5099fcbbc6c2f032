import { bytes, count, duration } from '../../format/units.js';
import { sampleProcesses } from '../../process/sampling/process-tree-sampler.js';
import { type FloodResult, flood } from '../flood.js';
import type { Claim, LabFigure, LabPlot, LabTable } from '../result.js';
import type { Bench, Study, StudyFindings } from '../study.js';

/** What one connection that does not wait did to a server. */
interface FloodRun extends FloodResult {
  name: string;
  native: boolean;
  /** The most requests in progress at a time. */
  inProgress: number;
  /** Memory before, and the most in it, bytes; `null` where the system does not tell. */
  memory: { before: number; most: number } | null;
  progressOverTime: [seconds: number, requests: number][];
  memoryOverTime: [seconds: number, bytes: number][];
}

/** What the memory of a server may grow by under a bound, bytes: V8's young generation grows by nearly as much (two halves of 16 MiB) under any work that lasts. */
const MAX_GROWTH_BYTES = 32 * 2 ** 20;
/** What the service prints when nothing has been in progress for a while. */
const IDLE_LINE = 'in progress 0, at most 0';
/** How long the service is waited for to say what was in progress last: it says so five times a second. */
const LAST_REPORT_MS = 5000;
const WARMUP = { connections: 50, warmup: 0 };

/** What the study and later repetitions of it reported, with the high-water mark as it was. */
const ORIGINAL_FIGURES = [
  { delay: '50', inProgress: 46_000, memory: 360e6 },
  { delay: '0-1000', inProgress: 27_672, memory: null },
];

export const pipelining: Study = {
  name: 'pipelining',
  title: 'Pipelining without a bound',
  original:
    '2016, Node 4.2, a client that writes 500,000 requests on one connection without waiting; the figures of 50 ms lately, Node 20',
  question:
    'What does one client do to a server that handles every pipelined request as soon as it is read?',
  seconds: { quick: 50, full: 420 },
  repeat,
};

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
      'server.maxPipelinedRequests (256) bounds the requests of a connection that are handled at once; nothing more is read until half of them are answered.',
      'server.responseTimeout answers 408 in its turn and closes, so that a request that is never answered does not hold those behind it for ever; server.maxRequestsInFlight answers 503.',
      'All three are limits of the native stack: node --import millrace/register app.js. HTTP/2 is the way without head-of-line blocking.',
    ],
    claims: checkClaims(floods),
    setup: [
      ...bench.setup,
      ...delays.map(
        (delay) =>
          `then, with DELAY_MS=${delay}, one connection: ${count(countRequests(bench, delay))} x GET /NUMBER in writes of 500, reading all the time`,
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

/** With fewer requests fewer can be in progress. */
function describeFewerRequests(requests: number, delay: string): string[] {
  if (requests === ORIGINAL_REQUESTS) return [];
  return [
    `as many requests as then after ${delay.replace('-', ' to ')} ms: ${count(requests)} here, ${count(ORIGINAL_REQUESTS)} then`,
  ];
}

async function runFlood(bench: Bench, delay: string, native: boolean): Promise<FloodRun> {
  const requests = countRequests(bench, delay);
  const name = `${native ? 'Millrace' : 'node:http'}, ${delay.replace('-', ' to ')} ms`;
  const lines: { atMs: number; most: number }[] = [];
  let onIdle = () => {};
  let onReport = () => {};
  const onLine = (line: string) => {
    if (line === IDLE_LINE) onIdle();
    const [, most] = /at most (\d+)/.exec(line) ?? [];
    if (most === undefined) return;
    lines.push({ atMs: performance.now(), most: Number(most) });
    onReport();
  };
  const env = { DELAY_MS: delay };
  return bench.withService({ name: 'in-progress', env, native, onLine }, async (service) => {
    // The heap gets the size that work gives it.
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
    // A server that reads all at once and then answers all in one turn of its loop has said nothing yet.
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
      inProgress: Math.max(0, ...lines.map(({ most }) => most)),
      memory: first
        ? {
            before: first.rssMb * 1e6,
            most: Math.max(...samples.map(({ rssMb }) => rssMb)) * 1e6,
          }
        : null,
      progressOverTime: lines.map(({ atMs, most }) => [seconds(atMs), most]),
      memoryOverTime: samples.map(({ tMs, rssMb }) => [seconds(tMs), rssMb * 1e6]),
    };
  });
}

function buildTable(floods: FloodRun[]): LabTable {
  return {
    title: 'One connection that does not wait',
    rowsAre: 'server, answers after',
    columns: [
      { name: 'in progress, most', unit: 'count', from: 'then' },
      { name: 'in progress, most', unit: 'count', from: 'now' },
      { name: 'memory, most', unit: 'bytes', from: 'then' },
      { name: 'memory, most', unit: 'bytes', from: 'now' },
      { name: 'memory, growth', unit: 'bytes', from: 'now' },
      { name: 'answered in order', unit: 'count', from: 'now' },
      { name: 'in all', unit: 'time', from: 'now' },
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
          memory?.most ?? null,
          memory ? memory.most - memory.before : null,
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
      'The most in each fifth of a second, as the server counts them.',
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

function checkClaims(floods: FloodRun[]): Claim[] {
  return floods.flatMap(({ name, native, answered, failure, memory, inProgress, durationMs }) => {
    const order: Claim = {
      text: `${name}: all are answered in order: ${count(answered)} in ${duration(Math.round(durationMs / 100) * 100)}${failure ? `, then ${failure}` : ''}`,
      held: failure === null,
    };
    if (!native) return [order];
    const growth = memory ? memory.most - memory.before : null;
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

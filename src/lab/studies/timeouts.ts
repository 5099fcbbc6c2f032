import { count, duration, rate, share, time } from '../../format/units.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import type { LabCause, LabClaim, LabFigure, LabTable } from '../result.js';
import type { ServiceSetting } from '../service.js';
import type { Bench, MeasuredLoad, Study, StudyFindings } from '../study.js';
import { createColumn, createColumnPair } from '../tables.js';

/** The times of the study; shorter ones for a quick run. */
interface TimeScale {
  delayMs: number;
  slowMs: number;
  timeoutMs: number;
  /** Concurrent requests, and requests per second of the open load. */
  concurrent: number;
  rate: number;
  /** Warm-up until the number of waiting requests is stable, and length of the measurement. */
  settleMs: number;
  measureMs: number;
}

const FULL: TimeScale = {
  delayMs: 100,
  slowMs: 10_000,
  timeoutMs: 3000,
  concurrent: 1000,
  rate: 1000,
  settleMs: 11_000,
  measureMs: 30_000,
};
const QUICK: TimeScale = {
  delayMs: 50,
  slowMs: 1000,
  timeoutMs: 300,
  concurrent: 60,
  rate: 200,
  settleMs: 1200,
  measureMs: 3000,
};
/** Port of the back service in printed command lines; the run itself uses a free port. */
const BACK_PORT = 3001;
/** Every tenth response is slow. */
const SLOW_EVERY = 10;

/** The cases of the original study with their figures: latencies in ms, heap in bytes. Each ran for three minutes. */
const ORIGINAL_CASES = [
  {
    open: false,
    slow: false,
    limited: false,
    rate: 1284,
    available: 1,
    meanMs: null,
    p95Ms: null,
    heap: null,
  },
  {
    open: false,
    slow: true,
    limited: false,
    rate: 854,
    available: 1,
    meanMs: null,
    p95Ms: null,
    heap: 194e6,
  },
  {
    open: false,
    slow: true,
    limited: true,
    rate: 1125,
    available: 0.9014,
    meanMs: null,
    p95Ms: null,
    heap: 205e6,
  },
  {
    open: true,
    slow: true,
    limited: false,
    rate: 1000,
    available: 1,
    meanMs: 1170,
    p95Ms: 10_060,
    heap: 212e6,
  },
  {
    open: true,
    slow: true,
    limited: true,
    rate: 1000,
    available: 0.9,
    meanMs: 456,
    p95Ms: 3050,
    heap: 149e6,
  },
] as const;
type OriginalCase = (typeof ORIGINAL_CASES)[number];

/** The result of a case. */
interface CaseResult {
  of: OriginalCase;
  /** Responses with any status per second. */
  rate: number;
  /** Share of successful responses among all requests that ended. */
  available: number;
  meanMs: number;
  p95Ms: number | null;
  /** Mean number of requests in flight. */
  inFlight: number;
  /** Mean resident memory of the front service in bytes; `null` if the system does not report it. */
  memory: number | null;
  /** Rate by the formula or, with an open load, requests in flight. */
  expected: number;
}

/** Tolerated deviation from the formula. */
const TOLERANCE = 0.15;
/**
 * Minimum throughput with the limit of the study, as a share of what `explain` predicts with a shorter limit of three times
 * the usual response time.
 */
const MIN_SHARE_OF_PREDICTED = 0.4;

export const timeouts: Study = { ...STUDY_DESCRIPTIONS.timeouts, repeat };

async function repeat(bench: Bench): Promise<StudyFindings> {
  const scale = bench.quick ? QUICK : FULL;
  const measured: CaseResult[] = [];
  let maxRate = Number.POSITIVE_INFINITY;
  for (const one of ORIGINAL_CASES) {
    const found = await measure(bench, scale, one, maxRate);
    measured.push(found);
    // Without slow responses the front runs at its maximum, or at what its requests in flight permit.
    if (!one.slow) maxRate = found.rate;
  }
  const cause = await bench.withService(buildBackSetting(scale, true), (back) =>
    bench.explain(buildFrontSetting(`${back.origin}/`, scale, false), {
      connections: scale.concurrent,
    }),
  );
  return {
    tables: [buildTable(measured, scale)],
    figures: buildFigures(measured),
    causes: [cause],
    changes: [
      `X = min(N / E[R], C): ${SLOW_EVERY - 1} of ${SLOW_EVERY} responses take ${duration(scale.delayMs)}, one takes ${duration(scale.slowMs)}, or the time limit of ${duration(scale.timeoutMs)}; so E[R] is ${time(computeMeanMs(scale, false))} without a limit and ${time(computeMeanMs(scale, true))} with one.`,
      'At equal concurrency the service with the limit serves more requests, so memory cannot be compared. At an equal rate the requests in flight are rate x E[R], and memory follows them.',
      'node --import millrace/deadlines/register app.js gives every call of a service its limits: connect, TLS, headers, idle, and a total of 3 s where nothing else is set.',
    ],
    claims: checkClaims(measured, cause, bench.quick),
    setup: bench.setup,
    missing: [
      ...(bench.quick
        ? [
            `the original times: all are shorter here (${duration(scale.delayMs)}, ${duration(scale.slowMs)}, ${duration(scale.timeoutMs)})`,
          ]
        : []),
      'the case of 500 concurrent requests without slow responses, 1,157/s then',
      'the heap alone: memory is the resident memory of the process',
    ],
  };
}

/** Computes the mean response time if every tenth response is slow, in milliseconds. */
function computeMeanMs({ delayMs, slowMs, timeoutMs }: TimeScale, limited: boolean): number {
  const slow = limited ? Math.min(slowMs, timeoutMs) : slowMs;
  return delayMs + (slow - delayMs) / SLOW_EVERY;
}

function measure(
  bench: Bench,
  scale: TimeScale,
  one: OriginalCase,
  maxRate: number,
): Promise<CaseResult> {
  const load = one.open
    ? { rate: scale.rate, connections: scale.rate * 2 }
    : { connections: scale.concurrent };
  bench.step(formatCase(one, scale));
  return bench.withService(buildBackSetting(scale, one.slow), (back) => {
    const front = buildFrontSetting(`${back.origin}/`, scale, one.limited);
    return bench.withService(front, async (service) => {
      const loaded = await bench.load(service, {
        ...load,
        // Time limits are the front's responsibility.
        timeout: 2 * scale.slowMs,
        warmup: scale.settleMs,
        duration: scale.measureMs,
      });
      return summarizeCase(one, scale, loaded, maxRate);
    });
  });
}

function summarizeCase(
  one: OriginalCase,
  scale: TimeScale,
  loaded: MeasuredLoad,
  maxRate: number,
): CaseResult {
  const { requests, latencyMs, meanInFlight, server } = loaded;
  const { ok, statusErrors, transportErrors, timeouts } = requests;
  const ended = ok + statusErrors + transportErrors + timeouts;
  const meanMs = one.slow ? computeMeanMs(scale, one.limited) : scale.delayMs;
  const samples = server?.series ?? [];
  const rss = samples.reduce((sum, { rssMb }) => sum + rssMb, 0) / samples.length;
  return {
    of: one,
    rate: loaded.rate,
    available: ended > 0 ? ok / ended : 0,
    meanMs: (meanInFlight * 1000) / loaded.rate,
    p95Ms: latencyMs.p95,
    inFlight: meanInFlight,
    memory: samples.length > 0 ? rss * 1e6 : null,
    expected: one.open
      ? (scale.rate * meanMs) / 1000
      : Math.min((scale.concurrent * 1000) / meanMs, maxRate),
  };
}

function buildBackSetting({ delayMs, slowMs }: TimeScale, slow: boolean): ServiceSetting {
  const env = {
    DELAY_MS: String(delayMs),
    ...(slow && { SLOW_EVERY: String(SLOW_EVERY), SLOW_MS: String(slowMs) }),
  };
  return { name: 'back', env, exampleEnv: { PORT: String(BACK_PORT) } };
}

function buildFrontSetting(
  back: string,
  { timeoutMs }: TimeScale,
  limited: boolean,
): ServiceSetting {
  const env = { BACK: back, ...(limited && { MILLRACE_DEADLINE_TOTAL: `${timeoutMs}ms` }) };
  const exampleEnv = { BACK: `http://127.0.0.1:${BACK_PORT}/` };
  return {
    name: 'front',
    env,
    exampleEnv,
    imports: limited ? ['millrace/deadlines/register'] : [],
  };
}

function formatCase({ open, slow, limited }: OriginalCase, scale: TimeScale): string {
  const load = open ? `${count(scale.rate)}/s` : `${count(scale.concurrent)} concurrent`;
  if (!slow) return `${load}, no slow responses`;
  return `${load}, ${limited ? `limit of ${duration(scale.timeoutMs)}` : 'no limit'}`;
}

function buildTable(measured: CaseResult[], scale: TimeScale): LabTable {
  return {
    title: `A tenth of the responses takes ${duration(scale.slowMs)}, the others ${duration(scale.delayMs)}${scale === QUICK ? ' (then 10 s and 100 ms, limit 3 s, 1,000 concurrent)' : ''}`,
    rowsAre: 'load, limit',
    columns: [
      ...createColumnPair('req/s', 'rate'),
      ...createColumnPair('ok', 'share'),
      ...createColumnPair('mean', 'time'),
      ...createColumnPair('p95', 'time'),
      createColumn('in flight', 'count'),
      { name: 'heap', unit: 'bytes', from: 'then' },
      createColumn('memory', 'bytes'),
    ],
    rows: measured.map(({ of: then, ...now }) => ({
      name: formatCase(then, scale),
      cells: [
        then.rate,
        now.rate,
        then.available,
        now.available,
        then.meanMs,
        now.meanMs,
        then.p95Ms,
        now.p95Ms,
        now.inFlight,
        then.heap,
        now.memory,
      ],
    })),
  };
}

/** Builds bar charts of throughput, availability, latency and memory, with and without the limit. */
function buildFigures(measured: CaseResult[]): LabFigure[] {
  const open = measured.filter(({ of: { open } }) => open);
  const closed = measured.filter(({ of: { open, slow } }) => !open && slow);
  const bars = (
    title: string,
    caption: string,
    unit: 'rate' | 'time' | 'bytes' | 'share',
    of: (one: CaseResult) => number | null,
    shown = open,
  ): LabFigure => ({
    kind: 'bars',
    title,
    caption,
    unit,
    groups: [
      {
        name: '',
        bars: shown.map((one) => ({
          name: one.of.limited ? 'with the limit' : 'without',
          value: of(one),
        })),
      },
    ],
  });
  return [
    bars(
      'Throughput at equal concurrency',
      'Responses per second, with any status.',
      'rate',
      (one) => one.rate,
      closed,
    ),
    bars(
      'Availability at an equal rate',
      'Share of successful responses.',
      'share',
      (one) => one.available,
    ),
    bars('Latency at an equal rate', 'Mean.', 'time', (one) => one.meanMs),
    bars('Memory at an equal rate', 'Mean resident memory.', 'bytes', (one) => one.memory),
  ];
}

function checkClaims(measured: CaseResult[], cause: LabCause, quick: boolean): LabClaim[] {
  const formula = measured
    .filter(({ of: { slow } }) => slow)
    .map(({ of: one, rate: measuredRate, inFlight, expected }): LabClaim => {
      const observed = one.open ? inFlight : measuredRate;
      const what = one.open ? 'in flight' : 'req/s';
      const limit = one.limited ? 'with the limit' : 'without a limit';
      return {
        text: `${one.open ? 'at a rate' : 'at equal concurrency'}, ${limit}: the formula gives ${rate(expected)} ${what}, measured ${rate(observed)} (within ${TOLERANCE * 100} %)`,
        held: Math.abs(observed / expected - 1) <= TOLERANCE,
      };
    });
  const open = (limited: boolean) =>
    measured.find(({ of: one }) => one.open && one.limited === limited);
  const [without, limited] = [open(false), open(true)];
  const available = limited?.available ?? 0;
  const less = without?.memory && limited?.memory ? 1 - limited.memory / without.memory : null;
  return [
    ...formula,
    {
      text: `with the limit exactly a tenth fails: ${share(available)} available (within 2 % of ${share(1 - 1 / SLOW_EVERY)})`,
      held: Math.abs(available - (1 - 1 / SLOW_EVERY)) < 0.02,
    },
    {
      text: `at an equal rate the limit saves memory: ${less === null ? '?' : share(Math.max(0, less))} of the process's memory`,
      // In a quick run the requests' memory is small compared with that of the process.
      held: less === null || quick ? null : less > 0,
    },
    checkPrediction(cause, measured),
  ];
}

/** Checks the prediction that `explain` makes for a limit against the measurement. */
function checkPrediction({ remedy }: LabCause, measured: CaseResult[]): LabClaim {
  const range = remedy?.predictedThroughput;
  const limited = measured.find(({ of: one }) => !one.open && one.limited);
  if (!range || !limited) return { text: 'explain predicts the effect of a limit', held: null };
  return {
    text: `from the front without a limit explain predicted ${rate(range.low)} to ${rate(range.high)} req/s with a shorter limit of its own; measured ${rate(limited.rate)} with the limit of the study (at least ${MIN_SHARE_OF_PREDICTED} of the lower end)`,
    held: limited.rate > MIN_SHARE_OF_PREDICTED * range.low,
  };
}

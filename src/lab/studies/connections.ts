import { count, rate, time } from '../../format/units.js';
import { STUDY_DESCRIPTIONS } from '../descriptions.js';
import type { LabCause, LabClaim, LabFigure, LabTable } from '../result.js';
import type { ServiceSetting } from '../service.js';
import type { Bench, Study, StudyFindings } from '../study.js';
import { createColumnPair } from '../tables.js';

/** A rate beyond any of the servers: every connection is always in use, and the schedule runs ahead. */
const TARGET_RATE = 50_000;
/** Tolerated deviation of a level from N / R, for random queueing at the event loop. */
const TOLERANCE_BELOW_KNEE = 0.1;
/** Tolerated growth of throughput beyond the knee. */
const TOLERANCE_BEYOND_KNEE = 0.1;
/** Minimum ratio between the connections of the last level and of the first one beyond the knee. */
const MIN_ADDED_RATIO = 1.5;
/** Tolerated distance of the highest measured throughput from the predicted range. */
const PREDICTION_TOLERANCE = 0.2;
const DELAY_MS = 50;

/** The figures of the original study: responses per second, and latency from the schedule. */
const ORIGINAL_FIGURES = [
  { delayMs: 0, connections: 20, rate: 14_145, latencyMs: 8900 },
  { delayMs: DELAY_MS, connections: 1, rate: 18.47, latencyMs: 12_500 },
  { delayMs: DELAY_MS, connections: 20, rate: 366.9, latencyMs: 12_400 },
  { delayMs: DELAY_MS, connections: 100, rate: 1585, latencyMs: 11_850 },
  { delayMs: DELAY_MS, connections: 3000, rate: 12_558, latencyMs: 8600 },
];

/** Throughput and latency at a number of connections. */
interface ConnectionLevel {
  connections: number;
  throughput: number;
  latencyMs: number;
}

export const connections: Study = { ...STUDY_DESCRIPTIONS.connections, repeat };

async function repeat(bench: Bench): Promise<StudyFindings> {
  const table = await measureTable(bench);
  const levels = await measureLevels(bench);
  const cause = await bench.explain(buildSetting(DELAY_MS), { connections: 20 });
  const [alone] = levels;
  const singleMs = alone?.latencyMs ?? DELAY_MS;
  const maxThroughput = Math.max(...levels.map(({ throughput }) => throughput));
  const knee = (maxThroughput * singleMs) / 1000;
  return {
    tables: [table],
    figures: [buildFigure(levels, singleMs, maxThroughput, knee)],
    causes: [cause],
    changes: [
      `It reports the knee: ${count(knee)} connections (${rate(maxThroughput)} req/s x ${time(singleMs)}). The study assumed 3,000; by its own figures the knee was 12,558/s x 51.4 ms = 646. More than that only adds latency: with 3,000 connections each request takes ${time((3000 * 1000) / maxThroughput)} here.`,
      'millrace explain finds this from 20 connections, by an experiment that can be repeated; millrace capacity measures the whole curve.',
      'Latency counts from the schedule only if there is one (-R). In a closed load it is the time from request to response.',
    ],
    claims: [...checkClaims(levels, singleMs, knee), checkPrediction(cause, maxThroughput)],
    setup: bench.setup,
    missing: [],
  };
}

/** Repeats the runs of the study, at a rate far beyond the capacity of the server. */
async function measureTable(bench: Bench): Promise<LabTable> {
  const rows = [];
  for (const { delayMs, connections, ...then } of ORIGINAL_FIGURES) {
    bench.step(
      `${formatDelay(delayMs)}, ${count(connections)} connections, at ${rate(TARGET_RATE)}/s`,
    );
    const { throughput, latencyMs } = await bench.withService(buildSetting(delayMs), (service) =>
      bench.load(service, {
        connections,
        rate: TARGET_RATE,
        duration: bench.quick ? 2000 : 15_000,
        warmup: bench.quick ? 0 : 1000,
      }),
    );
    rows.push({
      name: `${formatDelay(delayMs)}, ${count(connections)}`,
      cells: [then.rate, throughput.mean, then.latencyMs, latencyMs.mean],
    });
  }
  return {
    title: 'At a rate beyond the capacity of every server',
    rowsAre: 'responses, connections',
    columns: [
      ...createColumnPair('req/s', 'rate'),
      ...createColumnPair('latency from the schedule', 'time'),
    ],
    rows,
  };
}

/** Measures throughput over connections, each of which always has one request in flight. */
async function measureLevels(bench: Bench): Promise<ConnectionLevel[]> {
  const wanted = bench.quick
    ? [1, 20, 100, 400, 1500, 3000]
    : [1, 5, 20, 50, 100, 200, 400, 700, 1000, 1500, 3000];
  const settle = bench.quick ? 400 : 1500;
  const duration = bench.quick ? 1200 : 4000;
  return bench.withService(buildSetting(DELAY_MS), async (service) => {
    // The first thousands of requests run before the code is compiled.
    bench.step('warming up');
    await bench.load(service, { connections: 100, duration: settle * 2 });
    const levels: ConnectionLevel[] = [];
    for (const connections of wanted) {
      bench.step(`${count(connections)} connections`);
      const load = { connections, warmup: settle, duration };
      const { throughput, meanInFlight } = await bench.load(service, load);
      // By Little's law, which includes the requests in flight at the end.
      const latencyMs = (meanInFlight * 1000) / throughput.mean;
      levels.push({ connections, throughput: throughput.mean, latencyMs });
    }
    return levels;
  });
}

function buildFigure(
  levels: ConnectionLevel[],
  singleMs: number,
  maxThroughput: number,
  knee: number,
): LabFigure {
  const last = levels.at(-1)?.connections ?? 1;
  return {
    kind: 'lines',
    title: 'Throughput over connections',
    caption: `Each response takes ${DELAY_MS} ms. Dashed: N / ${time(singleMs)}, and ${rate(maxThroughput)} req/s, the highest measured. The lines meet at the knee.`,
    x: { name: 'connections', unit: 'count', scale: 'log' },
    y: { name: 'responses per second', unit: 'rate', scale: 'log' },
    series: [
      {
        name: 'measured',
        style: 'dots',
        points: levels.map(({ connections, throughput }) => [connections, throughput]),
      },
      {
        name: 'N / response time',
        style: 'bound',
        points: [
          [1, 1000 / singleMs],
          [knee, maxThroughput],
        ],
      },
      {
        name: 'highest measured',
        style: 'bound',
        points: [
          [knee, maxThroughput],
          [last, maxThroughput],
        ],
      },
    ],
    marks: [{ x: knee, label: `knee ${count(knee)}` }],
  };
}

function checkClaims(levels: ConnectionLevel[], singleMs: number, knee: number): LabClaim[] {
  const below = levels.filter(({ connections }) => connections <= knee / 2);
  const errors = below.map(({ connections, throughput }) =>
    Math.abs(throughput / ((connections * 1000) / singleMs) - 1),
  );
  const worst = Math.max(...errors);
  return [
    {
      text: `up to half of the knee, throughput is N / R: within ${(worst * 100).toFixed(1)} % (${below.length} levels, at most ${TOLERANCE_BELOW_KNEE * 100} %)`,
      held: below.length > 1 ? worst <= TOLERANCE_BELOW_KNEE : null,
    },
    checkBeyondKnee(levels.filter(({ connections }) => connections >= 1.5 * knee)),
  ];
}

/** Checks that beyond the knee throughput stays and latency grows, which follow from each other by Little's law. */
function checkBeyondKnee(levels: ConnectionLevel[]): LabClaim {
  const text = 'beyond the knee, more connections only add latency';
  const [first, last] = [levels.at(0), levels.at(-1)];
  if (!first || !last || last.connections < MIN_ADDED_RATIO * first.connections) {
    return { text, held: null };
  }
  const more = last.throughput / first.throughput;
  const longer = last.latencyMs / first.latencyMs;
  return {
    text: `${text}: ${count(last.connections)} have ${more.toFixed(2)}x the throughput of ${count(first.connections)} (at most ${1 + TOLERANCE_BEYOND_KNEE}x), and ${longer.toFixed(1)}x the latency`,
    held: more <= 1 + TOLERANCE_BEYOND_KNEE,
  };
}

/** Checks the prediction that `explain` made from 20 connections against the measurement. */
function checkPrediction({ remedy }: LabCause, maxThroughput: number): LabClaim {
  const range = remedy?.predictedThroughput;
  if (!range) return { text: 'explain predicts the throughput of more connections', held: null };
  return {
    text: `from 20 connections explain predicted ${rate(range.low)} to ${rate(range.high)} req/s with more of them; the highest measured throughput is ${rate(maxThroughput)} (at most ${PREDICTION_TOLERANCE * 100} % outside)`,
    held:
      maxThroughput >= range.low * (1 - PREDICTION_TOLERANCE) &&
      maxThroughput <= range.high * (1 + PREDICTION_TOLERANCE),
  };
}

function buildSetting(delayMs: number): ServiceSetting {
  return { name: 'delay', env: { DELAY_MS: String(delayMs) } };
}

function formatDelay(delayMs: number): string {
  return delayMs === 0 ? 'immediate' : `after ${delayMs} ms`;
}

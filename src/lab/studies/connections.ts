import { count, rate, time } from '../../format/units.js';
import type { Claim, LabCause, LabFigure, LabTable } from '../result.js';
import type { ServiceSetting } from '../service.js';
import type { Bench, Study, StudyFindings } from '../study.js';

/** More than any of the servers can answer: each connection is always in use, and the schedule runs ahead. */
const TARGET_RATE = 50_000;
/** Of the mean of a level, from N / R: what queues at the loop by chance. */
const TOLERANCE_BELOW_KNEE = 0.1;
/** Of 1: that more connections give no more. */
const TOLERANCE_BEYOND_KNEE = 0.1;
/** Connections of the last level, in those of the first one beyond the knee, so that they can be compared. */
const MIN_ADDED_RATIO = 1.5;
/** Of a prediction: what the most that was seen may lie beside it. */
const PREDICTION_TOLERANCE = 0.2;
const DELAY_MS = 50;

/** What the study reported, and with what: responses per second, and latency from the schedule in seconds. */
const ORIGINAL_FIGURES = [
  { delayMs: 0, connections: 20, rate: 14_145, latencyMs: 8900 },
  { delayMs: DELAY_MS, connections: 1, rate: 18.47, latencyMs: 12_500 },
  { delayMs: DELAY_MS, connections: 20, rate: 366.9, latencyMs: 12_400 },
  { delayMs: DELAY_MS, connections: 100, rate: 1585, latencyMs: 11_850 },
  { delayMs: DELAY_MS, connections: 3000, rate: 12_558, latencyMs: 8600 },
];

/** What a number of connections gave. */
interface ConnectionLevel {
  connections: number;
  throughput: number;
  latencyMs: number;
}

export const connections: Study = {
  name: 'connections',
  title: 'Connections',
  original:
    '2016, Node 4.2, a laptop with two cores; load at a constant rate of 50,000/s for 15 s, on kept connections',
  question:
    'Why does this service do only X requests a second, although CPU, memory and network are idle?',
  seconds: { quick: 47, full: 200 },
  repeat,
};

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
      `It tells the knee: ${count(knee)} connections (${rate(maxThroughput)} req/s x ${time(singleMs)}). The study took 3,000 for it; by its own figures it was 12,558/s x 51.4 ms = 646. Those beyond only wait: 3,000 of them ${time((3000 * 1000) / maxThroughput)} each, here.`,
      'millrace explain says so from 20 connections, with an experiment that anybody can repeat; millrace capacity measures the whole curve.',
      'Latency is counted from the schedule only where there is one (-R). Of a load that waits for answers it is how long they took.',
    ],
    claims: [...checkClaims(levels, singleMs, knee), checkPrediction(cause, maxThroughput)],
    setup: bench.setup,
    missing: [],
  };
}

/** The runs of the study: at a rate far beyond what the server can give. */
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
    title: 'At a rate that no server can give',
    rowsAre: 'answers, connections',
    columns: [
      { name: 'req/s', unit: 'rate', from: 'then' },
      { name: 'req/s', unit: 'rate', from: 'now' },
      { name: 'latency from the schedule', unit: 'time', from: 'then' },
      { name: 'latency from the schedule', unit: 'time', from: 'now' },
    ],
    rows,
  };
}

/** Throughput over connections, each of which always has one request in flight. */
async function measureLevels(bench: Bench): Promise<ConnectionLevel[]> {
  const wanted = bench.quick
    ? [1, 20, 100, 400, 1500, 3000]
    : [1, 5, 20, 50, 100, 200, 400, 700, 1000, 1500, 3000];
  const settle = bench.quick ? 400 : 1500;
  const duration = bench.quick ? 1200 : 4000;
  return bench.withService(buildSetting(DELAY_MS), async (service) => {
    // Its code is compiled by the first thousands of requests.
    bench.step('warming up');
    await bench.load(service, { connections: 100, duration: settle * 2 });
    const levels: ConnectionLevel[] = [];
    for (const connections of wanted) {
      bench.step(`${count(connections)} connections`);
      const load = { connections, warmup: settle, duration };
      const { throughput, meanInFlight } = await bench.load(service, load);
      // By Little's law: also of the requests that were in flight at the end.
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
    caption: `Each answer takes ${DELAY_MS} ms. Dashed: N / ${time(singleMs)}, and ${rate(maxThroughput)} req/s, the most that was seen. They meet at the knee.`,
    x: { name: 'connections', unit: 'count', scale: 'log' },
    y: { name: 'responses per second', unit: 'rate', scale: 'log' },
    series: [
      {
        name: 'measured',
        style: 'dots',
        points: levels.map(({ connections, throughput }) => [connections, throughput]),
      },
      {
        name: 'each connection by itself',
        style: 'bound',
        points: [
          [1, 1000 / singleMs],
          [knee, maxThroughput],
        ],
      },
      {
        name: 'the most',
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

function checkClaims(levels: ConnectionLevel[], singleMs: number, knee: number): Claim[] {
  const below = levels.filter(({ connections }) => connections <= knee / 2);
  const errors = below.map(({ connections, throughput }) =>
    Math.abs(throughput / ((connections * 1000) / singleMs) - 1),
  );
  const worst = Math.max(...errors);
  return [
    {
      text: `up to half of the knee throughput is N / R: within ${(worst * 100).toFixed(1)} % (${below.length} levels, at most ${TOLERANCE_BELOW_KNEE * 100} %)`,
      held: below.length > 1 ? worst <= TOLERANCE_BELOW_KNEE : null,
    },
    checkBeyondKnee(levels.filter(({ connections }) => connections >= 1.5 * knee)),
  ];
}

/** What they do not get they wait for: by Little's law the one follows from the other. */
function checkBeyondKnee(levels: ConnectionLevel[]): Claim {
  const text = 'beyond the knee more connections get no more, they wait';
  const [first, last] = [levels.at(0), levels.at(-1)];
  if (!first || !last || last.connections < MIN_ADDED_RATIO * first.connections) {
    return { text, held: null };
  }
  const more = last.throughput / first.throughput;
  const longer = last.latencyMs / first.latencyMs;
  return {
    text: `${text}: ${count(last.connections)} of them get ${more.toFixed(2)} x what ${count(first.connections)} get (at most ${1 + TOLERANCE_BEYOND_KNEE} x), and wait ${longer.toFixed(1)} x as long`,
    held: more <= 1 + TOLERANCE_BEYOND_KNEE,
  };
}

/** What `explain` predicted from 20 connections, against what was measured of many. */
function checkPrediction({ remedy }: LabCause, maxThroughput: number): Claim {
  const range = remedy?.predictedThroughput;
  if (!range) return { text: 'explain predicts what more connections give', held: null };
  return {
    text: `from 20 connections explain predicted ${rate(range.low)} to ${rate(range.high)} req/s with more of them; the most that was measured is ${rate(maxThroughput)} (at most ${PREDICTION_TOLERANCE * 100} % beside it)`,
    held:
      maxThroughput >= range.low * (1 - PREDICTION_TOLERANCE) &&
      maxThroughput <= range.high * (1 + PREDICTION_TOLERANCE),
  };
}

function buildSetting(delayMs: number): ServiceSetting {
  return { name: 'delay', env: { DELAY_MS: String(delayMs) } };
}

function formatDelay(delayMs: number): string {
  return delayMs === 0 ? 'at once' : `after ${delayMs} ms`;
}

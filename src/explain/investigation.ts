import type { LoadResult } from '../load/result.js';
import {
  type Change,
  EXPERIMENTS,
  type Experiment,
  type Setting,
  tellingExperiments,
} from './experiments.js';
import { busiest, cpuMsOf, type Facts, factsOf, type Seen } from './facts.js';
import { type Judged, judgeAll } from './judges.js';
import type { Observation } from './observation.js';
import { analyseProfile, type CpuProfile } from './profile.js';
import type { CapacityPoint, ExperimentResult, HotFunction, MeasuredRatio } from './result.js';
import { type Blocks, ratioBetween, runRounds } from './rounds.js';
import type { Sample } from './sample.js';
import { noiseFloor } from './statistics/noise.js';
import { ratioOf } from './statistics/ratio.js';
import type { BlockLength, Subject } from './subject.js';
import type { Suspect } from './suspect.js';
import type { Retained } from './suspects/memory.js';
import type { Ageing } from './suspects/time.js';
import { bearsRate, decide, type Finding, keepsUp, predictionOf } from './verdict.js';

/** All that was found out. */
export interface Investigated extends Judged {
  facts: Facts;
  finding: Finding;
  experiments: ExperimentResult[];
  noise: number;
  probeCost: MeasuredRatio | null;
  hot: HotFunction[];
  points: CapacityPoint[];
  /** Experiments that would have told more, and why they were not made. */
  missed: string[];
}

export interface InvestigationOptions {
  setting: Setting;
  sample: Sample | null;
  sampleMs: number | null;
  identityBytes: number | null;
  /** When to be done, on the clock of `performance.now()`. */
  untilMs: number;
  /** Told what is being done. */
  onStep(what: string): void;
}

const IDLE_MS = 700;
const ROUNDS = 5;
/** The most live experiments; each adds a block to every round. */
const MOST_EXPERIMENTS = 4;
const PROFILE_MS = 2000;

/** Looks, suspects, tries, and decides. */
export async function investigate(
  subject: Subject,
  options: InvestigationOptions,
): Promise<Investigated> {
  const { setting, untilMs, onStep } = options;
  const seen = await look(subject, options);
  const facts = factsOf(seen);
  const history: Ageing[] = [];
  const note = (block: Observation) => {
    const cpuMs = cpuMsOf(block);
    if (cpuMs !== null) history.push({ requests: subject.answered, cpuMs });
  };
  note(facts.base);
  let judged = judgeAll(facts, { retained: seen.retained, history });

  const length = blockLength(facts.base.load, facts.responseMs);
  const experiments: ExperimentResult[] = [];
  let blocks: Blocks = { base: [facts.base], changed: new Map() };
  let probeCost: MeasuredRatio | null = null;
  const growth = new Growth(subject, seen.retained);
  const missed = missedFor(facts, judged.suspects, setting);
  if (!(keepsUp(facts) && judged.suspects.every(({ weight }) => weight < 0.45))) {
    const telling = tellingExperiments(facts, judged.suspects, setting);
    const live = telling
      .filter(({ experiment }) => !restarts(experiment, facts))
      .slice(0, MOST_EXPERIMENTS);
    const chosen = live.map(({ experiment }) => experiment);
    const reserve = restartMs(
      telling.map(({ experiment }) => experiment),
      facts,
      length,
    );
    blocks = await runRounds(subject, facts, chosen, {
      length,
      rounds: ROUNDS,
      untilMs: untilMs - reserve - PROFILE_MS,
      onBlock: (what) => onStep(`trying: ${what}`),
      onBase: note,
      ...(grows(judged.suspects) && { onRound: growth.round }),
    });
    judged = judgeAll(facts, { retained: seen.retained, history });
    for (const experiment of chosen) {
      const result = resultOf(experiment, facts, blocks, judged.suspects);
      if (result) experiments.push(result);
    }
    experiments.push(...derived(facts, blocks, judged.suspects));
    const kept = growth.measured();
    if (kept) {
      const change = 'further requests, and a full collection after each round';
      const growing = {
        name: 'memory after rest',
        metric: 'memory kept per request',
        change,
        otherwise: 0,
      };
      experiments.push(withPredictions({ ...growing, measured: kept }, judged.suspects));
    }
  }
  const noise = noiseFloor(blocks.base.map(({ throughput }) => throughput));
  let finding = decide(facts, judged.suspects, experiments, noise);

  // What needs a new server is tried only for what may be the verdict, as each costs seconds.
  const wanted = [finding.chosen, ...finding.also].filter((suspect) => suspect !== null);
  for (const { experiment } of tellingExperiments(facts, wanted, setting).filter(({ experiment }) =>
    restarts(experiment, facts),
  )) {
    if (performance.now() + restartMs([experiment], facts, length) > untilMs + 3000) {
      missed.push(`${experiment.name}: no time was left of the budget (--budget)`);
      continue;
    }
    onStep(`trying: ${experiment.name}`);
    const result = await tryRestarted(subject, experiment, facts, judged.suspects, length, note);
    if (result) experiments.push(result);
    finding = decide(facts, judged.suspects, experiments, noise);
  }
  if (setting.probe && setting.moreLoad && !keepsUp(facts)) {
    onStep('measuring the cost of the probe');
    probeCost = await costOfProbe(subject, length, untilMs - PROFILE_MS);
  }
  const hot = await profiled(subject, facts, finding, onStep);
  return {
    ...judged,
    facts,
    finding,
    experiments,
    noise,
    probeCost,
    hot,
    points: pointsOf(facts, blocks),
    missed,
  };
}

/** What was seen before anything was changed. */
interface Looked extends Seen {
  retained: Retained | null;
}

async function look(
  subject: Subject,
  { sample, sampleMs, identityBytes, onStep }: InvestigationOptions,
): Promise<Looked> {
  onStep('looking at the server without load');
  const idle = await subject.rest(IDLE_MS);
  const idleView = subject.outsideBetween(idle.fromMs, idle.toMs);
  const idleShare = idleView
    ? Math.max(0, ...idleView.processes.map(({ main }) => main.run))
    : null;

  onStep('one request at a time');
  const aloneMs = sampleMs ?? 50;
  const single = await subject.block(
    { settleMs: 300, measureMs: Math.min(6000, Math.max(1200, aloneMs * 8)) },
    { alone: true },
  );
  const estimateMs = Math.max(aloneMs / 2, single.load.latencyMs.p50 ?? aloneMs);

  onStep('warming up with the load as asked for');
  await subject.block({ settleMs: 0, measureMs: Math.min(5000, Math.max(1500, estimateMs * 5)) });
  const before = await heldBytes(subject);
  const answered = subject.answered;
  onStep('measuring with the load as asked for');
  const settleMs = Math.min(3000, Math.max(300, estimateMs * 3));
  const length = { settleMs, measureMs: Math.min(8000, Math.max(3000, estimateMs * 15)) };
  const base = await baseline(subject, length);
  const after = before === null ? null : await heldBytes(subject);
  const retained =
    before !== null && after !== null
      ? { requests: subject.answered - answered, beforeBytes: before, afterBytes: after }
      : null;
  return { base, single, sample, idleShare, identityBytes, retained };
}

/** The load as asked for; where it is a rate that the server does not bear, as many connections as were in flight. */
async function baseline(subject: Subject, length: BlockLength): Promise<Observation> {
  const asked = await subject.block(length);
  const { plan, meanInFlight } = asked.load;
  if (plan.model === 'closed' || bearsRate(asked)) return asked;
  subject.saturate(
    Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, Math.round(meanInFlight))),
  );
  return subject.block(length);
}

/** Of a load that becomes closed: enough to saturate most services, and not more than most bear. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 256];

/** Bytes that are held after a full collection, by all processes with a probe; `null` without one. */
async function heldBytes({ hub }: Subject): Promise<number | null> {
  if (!hub) return null;
  // A process that ends meanwhile, or cannot: then this is not seen.
  const answers = await hub.command('collect', {}).catch(() => []);
  return answers.length === 0 ? null : answers.reduce((sum, bytes) => sum + bytes, 0);
}

function grows(suspects: Suspect[]): boolean {
  return suspects.some(({ limit }) => limit === 'memory-growth');
}

/** Memory that is kept per request, round by round, against what the baseline showed: a leak goes on, a cache is full once. */
class Growth {
  readonly #subject: Subject;
  readonly #pairs: [number, number][] = [];
  readonly #before: Retained | null;
  #heldBefore: number;
  #answeredBefore: number;

  constructor(subject: Subject, retained: Retained | null) {
    this.#subject = subject;
    this.#before = retained;
    this.#heldBefore = retained?.afterBytes ?? 0;
    this.#answeredBefore = subject.answered;
  }

  readonly round = async (): Promise<void> => {
    const held = await heldBytes(this.#subject);
    if (held === null || !this.#before) return;
    const { requests, beforeBytes, afterBytes } = this.#before;
    const first = (afterBytes - beforeBytes) / requests;
    const answered = this.#subject.answered - this.#answeredBefore;
    // Shrinking is no growth of any ratio.
    const since = Math.max(1, held - this.#heldBefore) / Math.max(1, answered);
    this.#pairs.push([first, since]);
    this.#answeredBefore = this.#subject.answered;
    this.#heldBefore = held;
  };

  measured(): MeasuredRatio | null {
    return this.#pairs.length >= 2 ? ratioOf(this.#pairs) : null;
  }
}

/** Long enough for the slow responses, short enough for several rounds. */
function blockLength({ latencyMs, plan }: LoadResult, responseMs: number): BlockLength {
  const slow = Math.min(latencyMs.p99 ?? responseMs, 4 * responseMs + 1000);
  return {
    settleMs: Math.min(2500, Math.max(250, responseMs * 2, slow)),
    measureMs: Math.min(
      5000,
      Math.max(plan.connection === 'close' ? 900 : 750, responseMs * 8, slow * 2),
    ),
  };
}

function restarts(experiment: Experiment, facts: Facts): boolean {
  return experiment.change(facts, {}).environment !== undefined;
}

/** Time for an experiment that needs new servers: two as they are and two changed. */
function restartMs(experiments: Experiment[], facts: Facts, length: BlockLength): number {
  const count = experiments.filter((experiment) => restarts(experiment, facts)).length;
  return Math.min(2, count) * 4 * (1500 + RESTART_WARMUP_MS + length.settleMs + length.measureMs);
}

const RESTART_WARMUP_MS = 1200;

/** A B B A, each on a server of its own that has been warmed up. */
async function tryRestarted(
  subject: Subject,
  experiment: Experiment,
  facts: Facts,
  suspects: Suspect[],
  length: BlockLength,
  note: (block: Observation) => void,
): Promise<ExperimentResult | null> {
  const { environment = {} } = experiment.change(facts, subject.options);
  // A fresh start is compared with the server as it has become.
  const isAgeing = experiment.name === 'fresh start';
  const base: Observation[] = [];
  const changed: Observation[] = [];
  if (isAgeing) {
    for (let count = 0; count < 2; count += 1) base.push(await subject.block(length));
    base.forEach(note);
  }
  const order = isAgeing
    ? ['changed', 'changed']
    : ['base', 'changed', 'changed', 'base', 'base', 'changed'];
  for (const kind of order) {
    await subject.restart(kind === 'changed' ? environment : {});
    const warmup = isAgeing ? 600 : RESTART_WARMUP_MS;
    await subject.block({ settleMs: 0, measureMs: warmup });
    (kind === 'base' ? base : changed).push(await subject.block(length));
  }
  return resultOf(
    experiment,
    facts,
    { base, changed: new Map([[experiment.name, changed]]) },
    suspects,
  );
}

function resultOf(
  { name, describe, metric }: Experiment,
  facts: Facts,
  { base, changed }: Blocks,
  suspects: Suspect[],
): ExperimentResult | null {
  const measured = ratioBetween(base, changed.get(name) ?? [], metric?.of);
  if (!measured) return null;
  return withPredictions(
    { name, metric: metric?.name ?? 'throughput', change: describe(facts), otherwise: 1, measured },
    suspects,
  );
}

function withPredictions(
  result: Omit<ExperimentResult, 'predicted' | 'excludes'>,
  suspects: Suspect[],
): ExperimentResult {
  const predicted: ExperimentResult['predicted'] = {};
  for (const suspect of suspects) {
    const range = predictionOf(suspect, result.name);
    if (range) predicted[suspect.limit] = range;
  }
  return { ...result, predicted, excludes: [] };
}

/** What the same blocks tell besides throughput. */
function derived(facts: Facts, { base, changed }: Blocks, suspects: Suspect[]): ExperimentResult[] {
  const doubled = changed.get('connections x2');
  if (!doubled) return [];
  const change = EXPERIMENTS.find(({ name }) => name === 'connections x2')?.describe(facts) ?? '';
  const quantities: [name: string, metric: string, of: (block: Observation) => number | null][] = [
    ['dependency, connections x2', 'answer time of the dependency', dependencyMs],
    [
      'pool wait, connections x2',
      'wait for a thread of the pool',
      ({ inside }) => inside?.poolMs?.mean ?? null,
    ],
  ];
  return quantities.flatMap(([name, metric, of]) => {
    if (!suspects.some(({ predictions }) => name in predictions)) return [];
    const measured = ratioBetween(base, doubled, of);
    return measured
      ? [withPredictions({ name, metric, change, otherwise: 1, measured }, suspects)]
      : [];
  });
}

/** The answer time of the calls in which most requests wait. */
function dependencyMs({ inside }: Observation): number | null {
  const calls = [...(inside?.outbound ?? [])].sort((a, b) => b.answering - a.answering);
  return calls[0]?.answerMs ?? null;
}

/** Throughput with the probe's subscriptions against without. */
async function costOfProbe(
  subject: Subject,
  length: BlockLength,
  untilMs: number,
): Promise<MeasuredRatio | null> {
  const off: Change = {
    probe: {
      on: { name: 'subscribe', given: { on: false } },
      off: { name: 'subscribe', given: { on: true } },
    },
  };
  const [on, without]: [Observation[], Observation[]] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    const order = round % 2 === 0 ? [off, undefined] : [undefined, off];
    if (performance.now() + 2 * (length.settleMs + length.measureMs) > untilMs) break;
    for (const change of order) (change ? without : on).push(await subject.block(length, change));
  }
  return ratioBetween(without, on);
}

/** The functions that cost most, where the loop is what limits. */
async function profiled(
  subject: Subject,
  { base }: Facts,
  { chosen }: Finding,
  onStep: (what: string) => void,
): Promise<HotFunction[]> {
  const busy = (base.inside?.utilisation ?? busiest(base)?.main.run ?? 0) > 0.5;
  if (!subject.hub || !chosen || !busy) return [];
  onStep('taking a profile');
  const profile = subject.hub.command('profile', { ms: PROFILE_MS }).catch(() => []);
  await subject.block({ settleMs: 0, measureMs: PROFILE_MS });
  const views = (await profile).map((it) => analyseProfile(it as CpuProfile));
  const busiestView = views.sort((a, b) => b.busyMs - a.busyMs)[0];
  return busiestView?.self ?? [];
}

function pointsOf(facts: Facts, { base, changed }: Blocks): CapacityPoint[] {
  const groups: Observation[][] = [
    facts.single ? [facts.single] : [],
    [facts.base, ...base.filter((block) => block !== facts.base)],
    ...['connections x2', 'connections /2'].map((name) => changed.get(name) ?? []),
  ];
  return groups
    .flatMap((blocks) => {
      const [first] = blocks;
      if (!first) return [];
      const rates = blocks.map(({ throughput }) => throughput);
      const { plan, latencyMs } = first.load;
      return [
        {
          connections: plan.connections * plan.pipelining,
          throughput: {
            low: Math.min(...rates),
            high: Math.max(...rates),
            mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
          },
          latencyMs: { p50: latencyMs.p50, p99: latencyMs.p99, mean: latencyMs.mean },
        },
      ];
    })
    .sort((a, b) => a.connections - b.connections);
}

/** The experiments that would tell more and cannot be made here. */
function missedFor(facts: Facts, suspects: Suspect[], setting: Setting): string[] {
  const all: Setting = { probe: true, restart: true, moreLoad: true };
  return tellingExperiments(facts, suspects, all).flatMap(({ experiment, worth }) => {
    const why = experiment.obstacle(setting, facts);
    return why !== null && worth > 0.2 ? [`${experiment.name}: ${why}`] : [];
  });
}

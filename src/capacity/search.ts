import { count, rate as perSecond, share, time } from '../format/units.js';
import { readArrivals, readArrivalTimes, readRate } from '../load/arrivals.js';
import { formatStatus } from '../load/grpc-statuses.js';
import type { Condition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';
import { estimateLatencies } from '../statistics/durations.js';
import type { Budget } from './budget.js';
import { computeErrorShare, summarizeLatency } from './levels.js';
import type { CapacityEstimate } from './model/fit.js';
import type { CapacitySearch, CapacitySearchEnd, CapacityTrial } from './result.js';
import type { CapacityTarget } from './target.js';
import { chooseNextRate, estimateThreshold } from './threshold.js';

/** Shares of the budget for each part of the search. */
const SHARES = { warmup: 0.03, single: 0.05, flatOut: 0.025, longestBlock: 0.15, confirm: 0.15 };

const MIN_BLOCK_MS = 1000;
const MIN_SINGLE_MS = 1000;

/** Length of a block as a multiple of the latency bound, so that a slowly growing queue becomes visible. */
const BOUNDS_PER_BLOCK = 40;

/** Number of samples that a percentile needs beyond it. */
const MIN_SAMPLES_BEYOND = 10;

/** Warm-up of a block, as a share of its length. */
const SETTLING_SHARE = 0.2;

/** Share of the requests that may fail unless the objective has a condition on errors. */
const MAX_ERROR_SHARE = 0.01;

/** Ratio of the ends of the interval at which the rate is known well enough. */
const MAX_INTERVAL_RATIO = 1.05;
const MIN_TRIALS = 8;
const MAX_TRIALS = 60;

/** The conditions that the blocks are checked against, and the time for all of them. */
export interface Objective {
  conditions: Condition[];
  budget: Budget;
}

/**
 * Searches the highest rate of the open model at which the objective holds.
 *
 * A block with one request after the other shows whether any rate can hold it, and a block without a rate shows where to
 * begin. Then follow trials at the rates of `chooseNextRate`, and a longer block at the lower end of the interval.
 */
export async function searchRate(
  target: CapacityTarget,
  { conditions, budget }: Objective,
  flatOutConnections: number,
): Promise<{ search: CapacitySearch; first: LoadResult }> {
  const run = new SearchRun(target, conditions, budget);
  const first = await run.prepare(flatOutConnections);
  await run.narrowDown();
  await run.confirm();
  return { search: run.result(), first };
}

class SearchRun {
  readonly #target: CapacityTarget;
  readonly #conditions: Condition[];
  readonly #budget: Budget;
  readonly #trials: CapacityTrial[] = [];
  #single: LoadResult | null = null;
  #startRate = 0;
  #confirmed: CapacityTrial | null = null;
  #ended: CapacitySearchEnd | null = null;
  #reason = '';

  constructor(target: CapacityTarget, conditions: Condition[], budget: Budget) {
    this.#target = target;
    this.#conditions = conditions;
    this.#budget = budget;
  }

  /** Runs the warm-up, single requests, and the block without a rate. Returns the result of the warm-up. */
  async prepare(flatOutConnections: number): Promise<LoadResult> {
    const { ms } = this.#budget;
    this.#budget.step('warming up');
    const first = await this.#target.warmUp(Math.min(10, flatOutConnections), SHARES.warmup * ms);
    const singleMs = Math.max(MIN_SINGLE_MS, SHARES.single * ms);
    await this.#target.drain();
    this.#single = await this.#runClosed('one request at a time', 1, singleMs);
    if (this.#single === null) return first;
    const impossible = explainImpossible(this.#single, this.#conditions);
    if (impossible !== null) {
      this.#end('never-holds', impossible);
      return first;
    }
    const flatOut = await this.#runClosed(
      'without a rate',
      flatOutConnections,
      SHARES.flatOut * ms,
    );
    if (flatOut === null) return first;
    // The requests that it left behind in the server must not affect the first trial.
    await this.#target.drain();
    const goodput = (result: LoadResult) => (countSucceeded(result) * 1000) / result.durationMs;
    this.#startRate = Math.max(0.5 * goodput(flatOut), 0.5 * goodput(this.#single));
    return first;
  }

  /** Runs a block of the closed model; `null` if it was cut short. */
  async #runClosed(
    step: string,
    connections: number,
    durationMs: number,
  ): Promise<LoadResult | null> {
    this.#budget.step(step);
    const result = await this.#target.run({ connections, warmupMs: 0, durationMs });
    if (result === null) this.#endEarly();
    return result;
  }

  /** Runs trials until the rate is known well enough or the time is over. */
  async narrowDown(): Promise<void> {
    let rate = this.#startRate;
    while (this.#ended === null) {
      const durationMs = this.#computeBlockMs(rate);
      if (durationMs > SHARES.longestBlock * this.#budget.ms) {
        return this.#end('budget', this.#explainTooFewSamples(rate, durationMs));
      }
      const costMs = durationMs * (1 + SETTLING_SHARE);
      if (this.#budget.leftMs < costMs + SHARES.confirm * this.#budget.ms) {
        return this.#end('budget', 'the budget ended before the first rate was tried');
      }
      const trial = await this.#runTrialTwice(rate, durationMs);
      if (trial === null) return;
      this.#trials.push(trial);
      const { low, high } = estimateThreshold(this.#trials);
      if (this.#trials.length >= MAX_TRIALS) return this.#end('found');
      if (this.#trials.length >= MIN_TRIALS && high / low <= MAX_INTERVAL_RATIO)
        return this.#end('found');
      rate = chooseNextRate(this.#trials);
    }
  }

  /** Runs a longer block at the lower end of the interval, if there is time. */
  async confirm(): Promise<void> {
    const threshold = this.#estimateThreshold();
    if (threshold === null || this.#target.isOver) return;
    const durationMs = Math.min(this.#budget.leftMs / (1 + SETTLING_SHARE), 10_000);
    if (durationMs < this.#computeBlockMs(threshold.low)) return;
    const trial = await this.#runTrial(threshold.low, durationMs);
    if (trial && !failedByClient(trial)) this.#confirmed = trial;
  }

  result(): CapacitySearch {
    const threshold = this.#estimateThreshold();
    const single = this.#single && readArrivalTimes(this.#single).ms;
    return {
      objective: this.#conditions.map(({ text }) => text),
      rate: threshold,
      trials: this.#trials,
      confirmed: this.#confirmed,
      single: { meanMs: single?.mean ?? null, samples: single?.count ?? 0 },
      ended: this.#isClientBound() ? 'client-bound' : (this.#ended ?? 'found'),
      reason: threshold === null ? this.#explainNoRate() : '',
    };
  }

  #explainNoRate(): string {
    const [lowest, ...others] = this.#trials.toSorted((a, b) => a.rate - b.rate);
    if (!lowest) return this.#reason;
    const tried =
      others.length > 0
        ? 'the objective did not hold at any rate tried; at the lowest,'
        : 'the objective did not hold at the only rate tried,';
    return `${tried} ${perSecond(lowest.rate)} per second: ${lowest.failures.join(', ')}`;
  }

  /**
   * Estimates the rate; `null` until one has held. There is no upper end without a rate that the server failed, or if it lies
   * beyond the rates tried.
   */
  #estimateThreshold(): CapacityEstimate | null {
    if (!this.#trials.some(({ held }) => held)) return null;
    // Where the block that should confirm the rate fails, the rate is lower.
    const failed = this.#confirmed?.held === false ? [this.#confirmed] : [];
    const trials = [...this.#trials, ...failed];
    const { value, low, high } = estimateThreshold(trials);
    const highestHeld = Math.max(...trials.filter(({ held }) => held).map(({ rate }) => rate));
    if (trials.every(({ held }) => held))
      return { value: highestHeld, low: highestHeld, high: Infinity };
    const highestTried = Math.max(...trials.map(({ rate }) => rate));
    // The upper end is unknown beyond the rates tried, and if the generator was the limit.
    if (!this.#isClientBound() && high <= highestTried) return { value, low, high };
    const atLeast = Math.min(low, highestHeld);
    return { value: atLeast, low: atLeast, high: Infinity };
  }

  /** Whether the generator was the limit in most of the trials that failed. */
  #isClientBound(): boolean {
    const failed = this.#trials.filter(({ held }) => !held);
    return failed.length > 0 && failed.filter(failedByClient).length > failed.length / 2;
  }

  /** Repeats a trial that failed while the generator was the limit, as it says nothing about the server. */
  async #runTrialTwice(rate: number, durationMs: number): Promise<CapacityTrial | null> {
    const trial = await this.#runTrial(rate, durationMs);
    return trial && failedByClient(trial) ? this.#runTrial(rate, durationMs) : trial;
  }

  async #runTrial(rate: number, durationMs: number): Promise<CapacityTrial | null> {
    const what = this.#single === null ? 'request' : readArrivals(this.#single).noun;
    this.#budget.step(`${perSecond(rate)} ${what}s per second`);
    const warmupMs = SETTLING_SHARE * durationMs;
    const result = await this.#target.run({ rate, warmupMs, durationMs });
    if (result === null) {
      this.#endEarly();
      return null;
    }
    const trial = toTrial(result, rate, this.#conditions);
    // The queue that an overload left behind must not affect the next block.
    if (!trial.held) await this.#target.drain();
    return trial;
  }

  #computeBlockMs(rate: number): number {
    const samples = this.#conditions.map(
      ({ quantile }) => MIN_SAMPLES_BEYOND / (1 - (quantile ?? 0.9)),
    );
    const bounds = this.#conditions.map(({ boundMs }) => BOUNDS_PER_BLOCK * (boundMs ?? 0));
    const forSamples = (1000 * Math.max(...samples)) / rate;
    const longest = (SHARES.longestBlock * this.#budget.ms) / 2;
    return Math.max(MIN_BLOCK_MS, forSamples, Math.min(longest, Math.max(...bounds)));
  }

  #explainTooFewSamples(rate: number, durationMs: number): string {
    const seconds = Math.ceil(durationMs / SHARES.longestBlock / 10_000) * 10;
    const [hardest] = this.#conditions.toSorted((a, b) => (b.quantile ?? 0) - (a.quantile ?? 0));
    return `${hardest?.text} needs ${count((rate * durationMs) / 1000)} requests per block, which take ${time(durationMs)} at ${perSecond(rate)} per second: use --budget ${seconds}s or a lower percentile`;
  }

  #end(ended: CapacitySearchEnd, reason = ''): void {
    this.#ended = ended;
    this.#reason = reason;
  }

  #endEarly(): void {
    if (this.#target.ended === null) this.#end('interrupted', 'interrupted');
    else this.#end('server-ended', `the server ${this.#target.ended}`);
  }
}

/** Whether a trial failed while the generator was the limit. */
function failedByClient({ held, clientBound }: CapacityTrial): boolean {
  return clientBound && !held;
}

function toTrial(
  result: LoadResult,
  rate: number,
  conditions: readonly Condition[],
): CapacityTrial {
  const failures = findFailures(result, conditions);
  return {
    rate,
    durationMs: result.durationMs,
    throughput: readRate(result),
    latencyMs: summarizeLatency([result]),
    samples: readArrivalTimes(result).ms.count,
    measured: conditions.map((condition) => condition.measured(result)),
    held: failures.length === 0,
    failures,
    clientBound: result.generator.clientBound,
  };
}

/** Metrics of failures: an objective with one says how many there may be. */
const OF_FAILURES = ['errors', 'timeouts', 'iterations.failed', 'checks'];

function findFailures(result: LoadResult, conditions: readonly Condition[]): string[] {
  const failures = conditions.flatMap((condition) => {
    const measured = condition.failure(result);
    return measured === null ? [] : [`${condition.text}: ${measured}`];
  });
  const errors = computeErrorShare([result]);
  const mayFail = conditions.some(({ metric }) => OF_FAILURES.includes(metric));
  if (!mayFail && errors > MAX_ERROR_SHARE) failures.push(`${share(errors)} failed`);
  const rateNotReached = result.warnings.find(({ id }) => id === 'rate-not-reached');
  if (rateNotReached) failures.push(`only ${perSecond(readRate(result))}/s completed`);
  return failures;
}

/** Counts the requests that succeeded, or with scenarios the completed iterations. */
function countSucceeded({ requests, iterations = null }: LoadResult): number {
  return iterations === null ? requests.ok : iterations.completed;
}

/** Explains why no rate can hold the objective, by requests one after the other; `null` if one can. */
function explainImpossible(single: LoadResult, conditions: readonly Condition[]): string | null {
  if (countSucceeded(single) === 0) {
    const { iterations, warnings } = single;
    // It names the step that failed.
    const why = warnings.find(({ id }) => id === 'no-iteration');
    if (iterations && why) return why.message.replace(/\.$/, '');
    const codes = Object.keys(single.statusCodes).map(formatStatus);
    const how = codes.length > 0 ? `with status ${codes.join(', ')}` : 'without a response';
    return single.requests.sent === single.requests.inFlightAtEnd
      ? `no response came within ${time(single.durationMs)}`
      : `every request failed, ${how}`;
  }
  for (const { quantile, boundMs, topic, text, failure } of conditions) {
    if (quantile === null || boundMs === null) continue;
    const measured = failure(single);
    const { histograms } = topic === 'iterations' ? readArrivalTimes(single) : single;
    const times = estimateLatencies([histograms]);
    // Of a time known only to exceed a value below the bound, it is open whether it exceeds the bound.
    const all = times.censoredTail ? [...times.values, times.censoredTail] : times.values;
    const slow = all.reduce((n, { ms, count }) => (ms > boundMs ? n + count : n), 0);
    const allowed = (1 - quantile) * times.count;
    // More than three standard deviations above the number expected by chance.
    if (measured !== null && slow > allowed + 3 * Math.sqrt(quantile * allowed) + 1) {
      return `${text} does not hold even with one request at a time: ${measured}`;
    }
  }
  return null;
}

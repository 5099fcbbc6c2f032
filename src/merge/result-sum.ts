import type { GeneratorResult, LoadResult, MergedResult, PlanSummary } from '../load/result.js';
import { nameGenerator } from '../load/segment.js';
import { addCounts, readCount, readNumber, TimeSum } from './counts.js';
import { DurationSum, LatenessSum } from './durations.js';
import {
  alignSeries,
  compareGenerators,
  findSpan,
  joinStalls,
  listGenerators,
} from './generators.js';
import { PlanSum } from './plans.js';
import { encodeTimes, NamedSum, RequestSum } from './requests.js';
import { ScenarioSum } from './scenarios.js';
import { computeDeviation, SeriesSum } from './series.js';
import { addShares, checkShares } from './shares.js';
import { SlowestSum } from './slowest.js';
import { listReasons } from './warnings.js';

const NO_CONNECTIONS = {
  ...{ opened: 0, reused: 0, tlsFull: 0, tlsResumed: 0, failed: 0, broken: 0 },
  ...{ closedByServer: 0, unansweredOnReuse: 0, http1: 0, http2: 0, goaway: 0 },
};

/**
 * The results of several loads, added up one after the other. Whole numbers and histograms are added; what has fractions is
 * computed from the generators in their order. So order and grouping make no difference.
 */
export class ResultSum {
  readonly #generators: GeneratorResult[] = [];
  readonly #plans: PlanSum;
  readonly #hasConditions: boolean;
  readonly #requests = new RequestSum();
  readonly #byName = new NamedSum();
  readonly #scenarios = new ScenarioSum();
  readonly #series = new SeriesSum();
  readonly #gap = new DurationSum();
  readonly #connect = new DurationSum();
  readonly #tls = new DurationSum();
  readonly #lateness = new LatenessSum();
  readonly #connections = { ...NO_CONNECTIONS };
  #maxStreams: number | null = null;
  readonly #slowest = new SlowestSum();
  readonly #commits = new Set<string | undefined>();
  readonly #warmup = { requests: 0, completedLater: 0 };
  #warmupMs = 0;
  #setupMs = 0;
  #followed = 0;
  #messages = 0;
  #windowWaits = 0;
  readonly #windowWait = new TimeSum();

  constructor(options: { allowDifference: boolean; hasConditions: boolean }) {
    this.#plans = new PlanSum(options.allowDifference);
    this.#hasConditions = options.hasConditions;
  }

  /** The conditions of the results. */
  get conditions(): readonly string[] {
    return this.#plans.conditions;
  }

  /** Adds a result. Throws a RangeError or TypeError if it is damaged. */
  add(result: LoadResult, name: string | null, position: number): void {
    const generators = listGenerators(result, name);
    this.#generators.push(...generators);
    checkShares(this.#generators);
    this.#plans.add(result, generators, position);
    const [first] = generators;
    if (!this.#hasConditions && first) {
      this.#plans.addConditions(result, nameGenerator(first, position));
    }
    this.#requests.add(result);
    this.#requests.failing.add(result.failingResponses);
    this.#byName.add(result.byName);
    this.#scenarios.add(result);
    this.#series.add(result);
    this.#addTimes(result);
    this.#slowest.add(result);
    this.#commits.add(result.commit);
    this.#addConnections(result);
    const { requests, completedLater, durationMs } = result.warmup;
    addCounts(this.#warmup, { requests, completedLater });
    this.#warmupMs = Math.max(this.#warmupMs, readNumber(durationMs));
    this.#setupMs = Math.max(this.#setupMs, readNumber(result.setupMs));
    this.#followed += readCount(result.requests.followed);
    this.#messages += readCount(result.messages);
    this.#windowWaits += readCount(result.windowWaits.requests);
    this.#windowWait.add(result.windowWaits.totalMs);
  }

  #addTimes({ histograms, sums, ...times }: LoadResult): void {
    this.#gap.add({
      ...{ all: histograms.gap, censored: histograms.gapCensored },
      ...{ sum: sums.gap, ms: times.gapMs },
    });
    this.#connect.add({ all: histograms.connect, sum: sums.connect, ms: times.connectMs });
    this.#tls.add({ all: histograms.tls, sum: sums.tls, ms: times.tlsMs });
    this.#lateness.add(histograms.lateness);
  }

  #addConnections({ connections }: LoadResult): void {
    const { maxConcurrentStreams, ...counts } = connections;
    addCounts(this.#connections, counts);
    const limits = [this.#maxStreams, maxConcurrentStreams].filter((limit) => limit !== null);
    this.#maxStreams = limits.length === 0 ? null : Math.min(...limits);
  }

  /** Returns the result without conditions and warnings. */
  finish(): MergedResult {
    const sorted = this.#generators.toSorted(compareGenerators);
    const { first, durationMs } = findSpan(sorted);
    const generators = alignSeries(sorted, first.startedAtMs);
    const missing = checkShares(generators);
    const { latency, serviceTime } = this.#requests.finishTimes();
    const [gap, connect, tls] = [this.#gap, this.#connect, this.#tls].map((sum) => sum.finish());
    if (!gap || !connect || !tls) throw new RangeError('no distributions');
    const requests = this.#requests.requests;
    const { abortedBy } = generators.find((one) => one.abortedBy !== undefined) ?? {};
    const arrived = requests.ok + requests.statusErrors + this.#warmup.completedLater;
    const series = this.#series.finish(first.startedAtMs);
    const differences = this.#plans.differences;
    // Of several commits it is the result of none.
    const [commit] = this.#commits.size === 1 ? this.#commits : [];
    return {
      schemaVersion: 2,
      tool: { name: 'millrace', version: first.version },
      plan: this.#finishPlan(generators, missing),
      startedAt: first.startedAt,
      startedAtMs: first.startedAtMs,
      ...(commit !== undefined && { commit }),
      durationMs,
      setupMs: this.#setupMs,
      interrupted: generators.some(({ interrupted }) => interrupted),
      ...(abortedBy !== undefined && { abortedBy }),
      warmup: { durationMs: this.#warmupMs, ...this.#warmup },
      requests: { ...requests, followed: this.#followed },
      unfinished: this.#requests.unfinished.finish(),
      throughput: {
        mean: durationMs > 0 ? (arrived * 1000) / durationMs : 0,
        stdev: computeDeviation(series, durationMs),
      },
      latencyMs: latency.ms,
      serviceTimeMs: serviceTime.ms,
      gapMs: gap.ms,
      connectMs: connect.ms,
      tlsMs: tls.ms,
      connections: { ...this.#connections, maxConcurrentStreams: this.#maxStreams },
      windowWaits: { requests: this.#windowWaits, totalMs: this.#windowWait.ms },
      messages: this.#messages,
      statusCodes: this.#requests.statuses.finish(),
      errors: this.#requests.errors.finish(),
      failingResponses: this.#requests.failing.finish(),
      ...this.#slowest.finish(),
      bytes: this.#requests.bytes,
      generator: this.#finishGenerator(generators, first.startedAtMs),
      meanInFlight: computeInFlight(generators, durationMs),
      ...series,
      histograms: {
        ...encodeTimes(latency, serviceTime),
        gap: gap.all,
        gapCensored: gap.censored,
        connect: connect.all,
        tls: tls.all,
        lateness: this.#lateness.encoded,
      },
      sums: {
        unit: 'ns',
        latency: latency.sum,
        serviceTime: serviceTime.sum,
        gap: gap.sum,
        connect: connect.sum,
        tls: tls.sum,
      },
      percentiles: { latency: latency.points, serviceTime: serviceTime.points },
      byName: this.#byName.finish(durationMs),
      ...this.#scenarios.finish(durationMs, generators),
      generators,
      ...(differences.length > 0 && { differences }),
      ...(missing.length > 0 && { missing }),
      warnings: [],
    };
  }

  #finishPlan(generators: readonly GeneratorResult[], missing: readonly number[]): PlanSummary {
    const plan = this.#plans.finish();
    const { users, ...whole } = addShares(generators, missing);
    return {
      ...plan,
      ...whole,
      ...(plan.flows && { flows: { ...plan.flows, users: users ?? plan.flows.users } }),
    };
  }

  #finishGenerator(
    generators: readonly GeneratorResult[],
    startedAtMs: number,
  ): LoadResult['generator'] {
    const starved = generators.flatMap((generator) => generator.starved ?? []);
    return {
      busy: Math.max(...generators.map(({ busy }) => busy)),
      starved: starved.length === 0 ? null : Math.max(...starved),
      latenessMs: this.#lateness.figures,
      stalled: joinStalls(generators, startedAtMs),
      littleResidual: null,
      clientBound: generators.some(({ clientBound }) => clientBound),
      reasons: listReasons(generators),
      workers: generators.flatMap(({ workers }) => workers),
    };
  }
}

function computeInFlight(generators: readonly GeneratorResult[], durationMs: number): number {
  if (durationMs === 0) return 0;
  const area = generators.reduce(
    (sum, generator) => sum + generator.meanInFlight * generator.durationMs,
    0,
  );
  return area / durationMs;
}

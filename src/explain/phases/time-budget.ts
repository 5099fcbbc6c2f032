import type { Experiment } from '../experiments/experiment.js';
import { needsServer } from '../experiments/selection.js';
import type { Metrics } from '../metrics/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { estimateRestartMs } from './restarts.js';

/** Minimum number of rounds of an experiment. */
const MIN_ROUNDS = 3;
/** Maximum number of live experiments; each adds a block to every round. */
const MAX_EXPERIMENTS = 4;
/** Maximum number of steps of the connection ramp. */
export const MAX_RAMP_STEPS = 3;
/** Minimum reserve for new servers, if the server can be restarted: the results may call for one. */
const MIN_RESERVE_MS = 8000;

/** What the reserve for later phases depends on. */
export interface ReserveOptions {
  /** All experiments, most informative first. */
  ranked: Experiment[];
  metrics: Metrics;
  subject: ServerUnderTest;
  canRestart: boolean;
  /** Time for a profile; 0 if none will be taken. */
  profileMs: number;
  /** Time for the connection ramp; 0 if it does not apply. */
  rampMs: number;
}

/** The time that is left for experiments, and how it is divided. */
export class TimeBudget {
  /** Deadline, on the clock of `performance.now()`. */
  readonly untilMs: number;
  /** Duration of a block. */
  readonly blockMs: number;

  constructor(untilMs: number, { settleMs, measureMs }: BlockLength) {
    this.untilMs = untilMs;
    this.blockMs = settleMs + measureMs;
  }

  get leftMs(): number {
    return this.untilMs - performance.now();
  }

  /** Whether a duration fits into the time left, without a reserve. */
  fits(ms: number, reserveMs = 0): boolean {
    return performance.now() + ms <= this.untilMs - reserveMs;
  }

  /** Selects the first experiments, as many as fit into a few rounds. */
  selectAffordable(experiments: Experiment[], untilMs = this.untilMs): Experiment[] {
    const leftMs = untilMs - performance.now();
    const blocks = Math.floor(leftMs / (MIN_ROUNDS * this.blockMs));
    const pairs = Math.floor(leftMs / (2 * this.blockMs));
    return experiments.slice(
      0,
      Math.min(MAX_EXPERIMENTS, Math.max(pairs >= 2 ? 1 : 0, blocks - 1)),
    );
  }

  /** Time for the connection ramp, if it applies. */
  computeRampMs(): number {
    return Math.min((MAX_RAMP_STEPS + 1) * this.blockMs, this.leftMs / 3);
  }

  /** Time for the first two experiments that start servers. */
  estimateRestartsMs(
    experiments: Experiment[],
    metrics: Metrics,
    subject: ServerUnderTest,
  ): number {
    return experiments
      .slice(0, 2)
      .reduce((sum, it) => sum + estimateRestartMs(it, metrics, subject, this.blockMs), 0);
  }

  /** Time reserved for profile, ramp and new servers, as far as higher-ranked live experiments leave it. */
  computeReserveMs(options: ReserveOptions): number {
    const { ranked, metrics, subject, canRestart, profileMs, rampMs } = options;
    const restarts = ranked.filter((it) => needsServer(it, metrics));
    const [first] = restarts;
    const before = first ? ranked.indexOf(first) : ranked.length;
    const leftMs = this.leftMs - profileMs;
    const live = 1 + Math.min(MAX_EXPERIMENTS, before);
    const spareMs = Math.max(0, leftMs - MIN_ROUNDS * live * this.blockMs);
    const restartsMs = this.estimateRestartsMs(restarts, metrics, subject);
    const wantedMs = Math.max(Math.min(restartsMs, leftMs / 2), canRestart ? MIN_RESERVE_MS : 0);
    // The ramp needs no new server: if it applies, restarts are not informative.
    return Math.max(Math.min(wantedMs, spareMs), rampMs) + profileMs;
  }
}

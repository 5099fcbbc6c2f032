import { MillraceError } from '../errors.js';
import type { Setting } from './experiments.js';
import type { Facts } from './facts.js';
import type { Judged } from './judges.js';
import { look } from './look.js';
import type { CapacityPoint, ExperimentResult, HotFunction, MeasuredRatio } from './result.js';
import type { Sampled } from './sample.js';
import type { Subject } from './subject.js';
import type { ExperimentName } from './suspect.js';
import { Trials } from './trials.js';
import type { Finding } from './verdict.js';

/** The experiment that was the remedy, once more for longer and without the probe: responses per second. */
export interface Repeated {
  experiment: ExperimentName;
  throughput: number;
}

/** All that was found out. */
export interface Investigated extends Judged {
  facts: Facts;
  finding: Finding;
  experiments: ExperimentResult[];
  noise: number;
  probeCost: MeasuredRatio | null;
  hot: HotFunction[];
  /** The function that brings the limit about, if one does. */
  culprit: HotFunction | null;
  points: CapacityPoint[];
  /** Responses per second of a server that does nothing, under this load; `null`: not measured, or not yet. */
  bare: number | null;
  remedied: Repeated | null;
  /** Responses per second with the load as asked for, the median of all its blocks. */
  level: number;
  /** Experiments that would have told more, and why they were not made. */
  missed: string[];
  /** Whether the caller ended it early. */
  interrupted: boolean;
}

export interface InvestigationOptions {
  /** What is possible with the server; asked when it has served some requests. */
  setting: () => Setting;
  sampled: Sampled;
  /** When to be done, on the clock of `performance.now()`. */
  untilMs: number;
  /** How long the load runs at least before it is measured. */
  warmupMs: number;
  /** Ends it early. */
  signal: AbortSignal;
  /** Told what is being done. */
  onStep(what: string): void;
}

/**
 * Looks, suspects, tries, and decides. What ends it early once the load as asked for has been seen (the caller, the
 * server's end) ends the trials, and what was found by then is given.
 */
export async function investigate(
  subject: Subject,
  options: InvestigationOptions,
): Promise<Investigated> {
  const { sampled, signal } = options;
  const looked = await look(subject, sampled, options);
  const trials = new Trials(subject, looked, options);
  try {
    await trials.live();
    await trials.beyond();
    await trials.profile();
    await trials.remedied();
    await trials.costOfProbe();
    await trials.restarted();
  } catch (error) {
    const ended = isGone(error) || subject.ended !== null;
    if (!ended && error !== signal.reason) throw error;
    if (ended) trials.missed.push(`further experiments: the server ${subject.ended ?? 'is gone'}`);
  }
  return { ...trials.found(), interrupted: signal.aborted };
}

/** The server does not answer any more, or does not start again. */
function isGone(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return false;
  return error.code === 'ERR_MILLRACE_UNREACHABLE' || error.code === 'ERR_MILLRACE_COMMAND';
}

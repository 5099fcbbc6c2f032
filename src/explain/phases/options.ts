import type { ExperimentSetting } from '../experiments/setting.js';
import type { CpuProfile } from '../profile/call-tree.js';
import type { RequestSample } from '../target/sample-request.js';

/** What the phases of an investigation are given. */
export interface InvestigationOptions {
  /** Returns what is possible with the server. Called after the server has answered requests. */
  setting: () => ExperimentSetting;
  requestSample: RequestSample;
  /** Deadline, on the clock of `performance.now()`. */
  untilMs: number;
  /** Minimum warm-up before the load is measured. */
  warmupMs: number;
  /** Ends the investigation early. */
  signal: AbortSignal;
  /** Receives the CPU profile of the unchanged load, in V8's own format. */
  onCpuProfile?: ((profile: CpuProfile) => void) | undefined;
  /** Number of frames of each stack of a wait. */
  waitStacks: number;
  /** Receives each step as it begins. */
  onStep(what: string): void;
}

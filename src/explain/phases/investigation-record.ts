import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import type { Finding, Findings } from '../findings.js';
import type { CostOverTime } from '../hypotheses/history.js';
import type { LimitId } from '../limit-ids.js';
import { computeCpuMs } from '../metrics/derive.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';
import type { Observation } from '../observe/types.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import type { Baseline } from './baseline.js';
import {
  applyEvent,
  beginState,
  countResponses,
  decide,
  type InvestigationEvent,
  type InvestigationState,
  toFindings,
} from './investigation-state.js';

/** Why something was not measured. */
export const NO_TIME = 'no time left; give it more time (--budget)';

/** What an investigation knows so far: the events of its phases, and the processes that have ended meanwhile. */
export class InvestigationRecord {
  readonly #subject: ServerUnderTest;
  #state: InvestigationState;

  constructor(subject: ServerUnderTest, baseline: Baseline) {
    this.#subject = subject;
    const cost = this.computeCost(baseline.metrics.base);
    this.#state = beginState(baseline, cost, this.#listExhausted());
  }

  get state(): InvestigationState {
    return this.#state;
  }

  apply(event: InvestigationEvent): void {
    this.#noteEndedProcesses();
    this.#state = applyEvent(this.#state, event);
  }

  /** Records what is not measured, with the reason. */
  recordSkipped(what: string): void {
    this.apply({ kind: 'skipped', what });
  }

  /** Records why an experiment has no result. */
  recordUnmade(name: ExperimentName, why: string): void {
    this.recordSkipped(`${EXPERIMENT_LABELS[name]}: ${why}`);
  }

  /** Findings so far. */
  conclude(): Findings {
    this.#noteEndedProcesses();
    return toFindings(this.#state);
  }

  /** The verdict so far. */
  decide(): Finding {
    return decide(this.#state);
  }

  /** Whether a limit is possible by what was measured. */
  isPossible(id: LimitId): boolean {
    return this.#state.evaluation.hypotheses.some(({ limit }) => limit === id);
  }

  get isLoopBusy(): boolean {
    const { base, loop } = this.#state.metrics;
    return (base.inside?.utilization ?? loop?.run ?? 0) > 0.5;
  }

  /** CPU time per response of a block, dated to the middle of the block, which is the last one. */
  computeCost(block: Observation | undefined): CostOverTime | null {
    const cpuMs = block ? computeCpuMs(block) : null;
    if (!block || cpuMs === null) return null;
    return { requests: this.#subject.responseCount - countResponses(block.load) / 2, cpuMs };
  }

  /** Notes the processes that have ended meanwhile because their heap was full. */
  #noteEndedProcesses(): void {
    const exhausted = this.#listExhausted();
    this.#state = applyEvent(this.#state, { kind: 'processes-ended', exhausted });
  }

  #listExhausted(): HeapExhaustion[] {
    return this.#subject.hub?.heapExhaustions ?? [];
  }
}

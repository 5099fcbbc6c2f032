import type { LatestValue } from '../load/engine/latest-value.js';
import type { LoadSnapshot } from '../load/result.js';
import type { HostFailure } from './failure.js';

/** The state of a run on several hosts. */
export interface HostsSnapshot extends LoadSnapshot {
  /** The hosts, in the order given, with the newest that is known of each. Percentiles of the whole are the highest of them. */
  hosts: HostState[];
}

/** The state of the run on one host. */
export interface HostState {
  /** Its name, as it was given. */
  host: string;
  /** `'connect'` until it is ready, then as of a load; `'done'` when its result is there. */
  phase: 'connect' | LoadSnapshot['phase'] | 'done' | 'failed';
  /** Responses per second over the last second; 0 before the measurement. */
  throughput: number;
  /** Responses of the measurement. */
  completed: number;
  /** Absent unless it failed. */
  failure?: HostFailure;
}

const NOTHING: LoadSnapshot = {
  ...{ phase: 'wait', elapsedMs: 0, completed: 0, errors: 0, inFlight: 0, throughput: 0 },
  ...{ p50Ms: null, p99Ms: null },
};

/** The order of phases: the whole is in the first one of its hosts. */
const PHASES = ['wait', 'setup', 'warmup', 'measure'] as const;

/** The running figures of several hosts, as those of one run. */
export class HostsProgress {
  readonly #states = new Map<string, HostState>();
  readonly #snapshots = new Map<string, LoadSnapshot>();
  readonly #newest: LatestValue<HostsSnapshot>;

  constructor(hosts: readonly string[], newest: LatestValue<HostsSnapshot>) {
    this.#newest = newest;
    for (const host of hosts) {
      this.#states.set(host, { host, phase: 'connect', throughput: 0, completed: 0 });
    }
    this.#push();
  }

  add(host: string, snapshot: LoadSnapshot): void {
    const { phase, throughput, completed } = snapshot;
    this.#snapshots.set(host, snapshot);
    const isMeasured = phase === 'measure';
    this.#set(host, { phase, throughput, completed: isMeasured ? completed : 0 });
  }

  mark(host: string, phase: 'wait' | 'done', failure?: undefined): void;
  mark(host: string, phase: 'failed', failure: HostFailure): void;
  mark(host: string, phase: HostState['phase'], failure?: HostFailure): void {
    const snapshot = this.#snapshots.get(host);
    // What has ended sends nothing any more; what it has done counts.
    if (snapshot) this.#snapshots.set(host, { ...snapshot, inFlight: 0, throughput: 0 });
    this.#set(host, { phase, throughput: 0, ...(failure && { failure }) });
  }

  #set(host: string, change: Partial<HostState>): void {
    const state = this.#states.get(host);
    if (state) this.#states.set(host, { ...state, ...change });
    this.#push();
  }

  #push(): void {
    const hosts = [...this.#states.values()];
    this.#newest.push({ ...addSnapshots([...this.#snapshots.values()]), hosts });
  }
}

function addSnapshots(snapshots: readonly LoadSnapshot[]): LoadSnapshot {
  const [any] = snapshots;
  if (!any) return NOTHING;
  const phase = PHASES.find((one) => snapshots.some((snapshot) => snapshot.phase === one));
  const inPhase = snapshots.filter((snapshot) => snapshot.phase === phase);
  const sum = (read: (snapshot: LoadSnapshot) => number) =>
    inPhase.reduce((all, snapshot) => all + read(snapshot), 0);
  const highest = (values: (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  const iterations = inPhase.flatMap((snapshot) => snapshot.iterations ?? []);
  return {
    phase: phase ?? 'wait',
    elapsedMs: Math.max(...inPhase.map(({ elapsedMs }) => elapsedMs)),
    completed: sum(({ completed }) => completed),
    errors: sum(({ errors }) => errors),
    inFlight: sum(({ inFlight }) => inFlight),
    throughput: sum(({ throughput }) => throughput),
    p50Ms: highest(inPhase.map(({ p50Ms }) => p50Ms)),
    p99Ms: highest(inPhase.map(({ p99Ms }) => p99Ms)),
    ...(iterations.length > 0 && { iterations: addIterations(iterations) }),
  };
}

type Iterations = NonNullable<LoadSnapshot['iterations']>;

function addIterations(all: readonly Iterations[]): Iterations {
  const sum = (read: (one: Iterations) => number) =>
    all.reduce((total, one) => total + read(one), 0);
  return {
    started: sum(({ started }) => started),
    completed: sum(({ completed }) => completed),
    failed: sum(({ failed }) => failed),
    inProgress: sum(({ inProgress }) => inProgress),
    notStarted: sum(({ notStarted }) => notStarted),
    rate: sum(({ rate }) => rate),
  };
}

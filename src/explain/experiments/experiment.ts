import type { LoadOptions } from '../../load/options.js';
import type { ExperimentMetric, ExperimentName } from '../experiment-names.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { Change } from '../target/change.js';
import type { ExperimentSetting } from './setting.js';

/** One controlled change. */
export interface Experiment {
  name: ExperimentName;
  /** Describes the change for the report. */
  describe(metrics: Metrics): string;
  /** Returns why the experiment is not possible here; `null` if it is. */
  findObstacle(setting: ExperimentSetting, metrics: Metrics): string | null;
  change(metrics: Metrics, options: LoadOptions): Change;
  /** Whether the change took effect, where that can be seen: a command may set its own environment. */
  tookEffect?(block: Observation, metrics: Metrics): boolean;
  /** The reason if it did not, unless a command set its own environment. */
  noEffectReason?: string;
  /** Metric that is compared; throughput by default. Of another one a hypothesis predicts nothing unless it says so. */
  metric?: { name: ExperimentMetric; read(block: Observation): number | null };
  /** Set if every cause of a busy loop predicts it alike, see `predictBusyLoop`: it is no evidence of any of them. */
  isOfBusyLoop?: true;
  /** Set if it removes only a part of a cause: its result leaves open how large the rest is. */
  isPartial?: true;
  /** The result that is derived from its blocks as well, where it tells more than throughput. */
  derived?: ExperimentName;
  /** Set if it changes calls to other services, which the user permits: where it is not made, the report says why. */
  changesDependencies?: true;
  /** Set if it does not change the CPU cost of a request. */
  keepsCost?: true;
}

export const requireProbe = ({ hasProbe }: ExperimentSetting): string | null =>
  hasProbe ? null : 'the server has no probe';

export const requireRestart = ({ canRestart }: ExperimentSetting): string | null =>
  canRestart ? null : 'millrace did not start the server';

import { LOAD_OPTIONS } from '../load/option-schema.js';
import { duration, type OtherNames, type Shapes, shape } from '../validation/shape.js';
import type { CapacityOptions } from './options.js';

const {
  rate: _rate,
  stages: _stages,
  connectionStages: _connectionStages,
  duration: _duration,
  requests: _requests,
  warmup: _warmup,
  pipelining: _pipelining,
  thinkTime: _thinkTime,
  failOn: _failOn,
  abortOnFail: _abortOnFail,
  segment: _segment,
  startAt: _startAt,
  ...load
} = LOAD_OPTIONS;

/** The accepted values of each option of `capacity()`. */
export const CAPACITY_OPTIONS: Shapes<CapacityOptions> = {
  ...load,
  slo: shape("a condition such as 'p99<50ms', or a list of them", (value) =>
    [value].flat().every((text) => typeof text === 'string'),
  ),
  budget: duration,
};

/** Other names of the objective. */
export const OTHER_CAPACITY_NAMES: OtherNames<CapacityOptions> = {
  conditions: 'slo',
  failOn: 'slo',
};

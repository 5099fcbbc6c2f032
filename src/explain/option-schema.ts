import { LOAD_OPTIONS } from '../load/option-schema.js';
import { duration, flag, number, type Shapes, shape } from '../validation/shape.js';
import type { ExplainOptions } from './options.js';

const {
  duration: _duration,
  requests: _requests,
  failOn: _failOn,
  abortOnFail: _abortOnFail,
  follow: _follow,
  connectionStages: _connectionStages,
  segment: _segment,
  startAt: _startAt,
  ...load
} = LOAD_OPTIONS;

/** The accepted values of each option of `explain()`. */
export const EXPLAIN_OPTIONS: Shapes<ExplainOptions> = {
  ...load,
  pid: number,
  budget: duration,
  attach: flag,
  allowMoreLoad: flag,
  waitStacks: number,
  onCpuProfile: shape('a function', (value) => typeof value === 'function'),
  allowDependencyExperiments: flag,
};

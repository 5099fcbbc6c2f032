import { LOAD_OPTIONS } from '../load/option-schema.js';
import {
  duration,
  flag,
  isObject,
  listOf,
  objectOf,
  type Shapes,
  shape,
  text,
} from '../validation/shape.js';
import type { CompareOptions, CompareSide } from './options.js';

const share = shape("a number, or text such as '3%'", (value) =>
  ['number', 'string'].includes(typeof value),
);

const SIDE: Shapes<CompareSide> = {
  label: text,
  command: LOAD_OPTIONS.command,
  url: LOAD_OPTIONS.url,
  env: LOAD_OPTIONS.env,
  cwd: LOAD_OPTIONS.cwd,
  stack: flag,
  files: listOf('a list of files', text),
  results: listOf('a list of results', shape('a result of load()', isObject)),
};

const side = objectOf('an object', SIDE, []);

const {
  abortOnFail: _abortOnFail,
  pid: _pid,
  segment: _segment,
  startAt: _startAt,
  ...load
} = LOAD_OPTIONS;

/** The accepted values of each option of `compare()`. */
export const COMPARE_OPTIONS: Shapes<CompareOptions> = {
  ...load,
  a: side,
  b: side,
  width: share,
  margin: share,
  budget: duration,
  allowDifference: flag,
  failOn: shape("a condition such as 'throughput ratio>=0.97', or a list of them", (value) =>
    [value].flat().every((text) => typeof text === 'string'),
  ),
};

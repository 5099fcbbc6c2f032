import { certificateShape, pathShape } from '../validation/pem.js';
import {
  count,
  duration,
  flag,
  isObject,
  listOf,
  number,
  objectOf,
  oneOf,
  rate,
  type Shapes,
  shape,
  text,
} from '../validation/shape.js';
import type { LoadOptions, Stage, Target } from './options.js';

const urls = shape('text, or a list of text', (value) =>
  [value].flat().every((url) => typeof url === 'string'),
);
// The entries of an iterable, such as a Map, are not fields: they would be ignored.
const headers = shape('an object, or a list of pairs of name and value', (value) =>
  Array.isArray(value)
    ? value.every((pair) => Array.isArray(pair) && pair.length === 2)
    : isObject(value) && !(Symbol.iterator in value),
);
const body = shape(
  'text or a Uint8Array',
  (value) => typeof value === 'string' || value instanceof Uint8Array,
);

const isSeed = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

const TARGET: Shapes<Target> = {
  ...{ url: text, name: text, method: text, headers, body, weight: number },
};
const STAGE: Shapes<Stage> = { duration, rate };

/** The accepted type of each option of `load()`. The code that reads an option checks its value. */
export const LOAD_OPTIONS: Shapes<LoadOptions> = {
  url: urls,
  targets: listOf('a list of targets', objectOf('an object with a url', TARGET, ['url'])),
  targetsFile: text,
  command: listOf('a list, the program first', text),
  resolve: listOf('a list of text', text),
  connectTo: listOf('a list of text', text),
  socketPath: text,
  name: text,
  method: text,
  headers,
  body,
  bodyFile: text,
  follow: count,
  placeholders: flag,
  connections: count,
  threads: count,
  pipelining: count,
  thinkTime: duration,
  rate,
  arrivals: oneOf('constant', 'poisson'),
  stages: listOf(
    'a list of stages',
    objectOf('an object with duration and rate', STAGE, ['duration', 'rate']),
  ),
  maxPending: count,
  duration,
  requests: count,
  warmup: duration,
  connection: oneOf('keep-alive', 'close'),
  tls: oneOf('keep-alive', 'resume', 'full'),
  insecure: flag,
  ca: certificateShape,
  cert: certificateShape,
  key: certificateShape,
  caFile: pathShape,
  certFile: pathShape,
  keyFile: pathShape,
  passphrase: text,
  sni: text,
  timeout: duration,
  connectTimeout: duration,
  conditions: listOf("a list of text, such as 'errors<10'", text),
  abortOnFail: shape("text, or a list of text, such as 'errors<10'", (value) =>
    [value].flat().every((text) => typeof text === 'string'),
  ),
  expect: shape("a status, or text such as '2xx', or a list of them", (value) =>
    [value].flat().every((item) => typeof item === 'string' || typeof item === 'number'),
  ),
  seed: shape('a whole number from 0 to 2^53 - 1', isSeed),
  buckets: listOf('a list of durations', duration),
  pid: shape('a process id, or false', (value) => value === false || typeof value === 'number'),
  signal: shape('an AbortSignal', (value) => value instanceof AbortSignal),
};

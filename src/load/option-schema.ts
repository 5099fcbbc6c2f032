import { usageError } from '../errors/millrace-error.js';
import { lastingHeadersShape as headers } from '../validation/headers.js';
import { certificateShape, pathShape } from '../validation/pem.js';
import {
  count,
  duration,
  flag,
  isObject,
  listOf,
  number,
  type OtherNames,
  objectOf,
  oneOf,
  rate,
  type Shapes,
  shape,
  text,
} from '../validation/shape.js';
import type { LoadConnectionStage, LoadOptions, LoadStage, LoadTarget } from './options.js';

/** Text, or a URL of this realm or of another one. */
const isUrl = (value: unknown) =>
  typeof value === 'string' || typeof (value as URL | null | undefined)?.href === 'string';
const url = shape('text or a URL', isUrl);
const urls = shape('text or a URL, or a list of them', (value) => [value].flat().every(isUrl));
const body = shape(
  'text or a Uint8Array',
  (value) => typeof value === 'string' || value instanceof Uint8Array,
);

const words = listOf('text for the shell, or a list, the program first', text);

const isSeed = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

const TARGET: Shapes<LoadTarget> = {
  ...{ url, name: text, method: text, headers, body, weight: number },
};
const STAGE: Shapes<LoadStage> = { duration, rate };
const CONNECTION_STAGE: Shapes<LoadConnectionStage> = { duration, connections: count };

/** The accepted type of each option of `load()`. The code that reads an option checks its value. */
export const LOAD_OPTIONS: Shapes<LoadOptions> = {
  url: urls,
  targets: listOf('a list of targets', objectOf('an object with a url', TARGET, ['url'])),
  targetsFile: text,
  scenario: shape('a scenario, a list of them, or a path', (value) =>
    ['object', 'string'].includes(typeof value),
  ),
  users: count,
  maxBody: shape("a number of bytes, or text such as '1mib'", (value) =>
    ['number', 'string'].includes(typeof value),
  ),
  command(value, name) {
    if (typeof value !== 'string') words(value, name);
  },
  env(value, name) {
    shape('an object of text', isObject)(value, name);
    for (const [variable, it] of Object.entries(value as object)) {
      if (it !== undefined) text(it, `${name}.${variable}`);
    }
  },
  cwd: text,
  resolve: listOf('a list of text', text),
  connectTo: listOf('a list of text', text),
  socketPath: text,
  localAddress: shape('an IP address, or a list of them', (value) =>
    [value].flat().every((address) => typeof address === 'string'),
  ),
  name: text,
  method: text,
  headers,
  body,
  bodyFile: text,
  follow: count,
  placeholders: flag,
  connections: count,
  connectionStages: listOf(
    'a list of stages',
    objectOf('an object with duration and connections', CONNECTION_STAGE, [
      'duration',
      'connections',
    ]),
  ),
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
  requests(value, name) {
    if (Array.isArray(value)) throw usageError(`${name} is a number; a list of them is 'targets'`);
    count(value, name);
  },
  warmup: duration,
  http2: flag,
  preferHttp2: flag,
  h2c: flag,
  window: shape("a number of bytes, or text such as '64kib'", (value) =>
    ['string', 'number'].includes(typeof value),
  ),
  grpc: text,
  proto: text,
  connection: oneOf('keep-alive', 'close'),
  handshake: oneOf('full', 'resume'),
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
  failOn: shape("a condition such as 'errors<10', or a list of them", (value) =>
    [value].flat().every((text) => typeof text === 'string'),
  ),
  abortOnFail: flag,
  expect: shape("a status, or text such as '2xx', or a list of them", (value) =>
    [value].flat().every((item) => typeof item === 'string' || typeof item === 'number'),
  ),
  seed: shape('a whole number from 0 to 2^53 - 1', isSeed),
  segment: text,
  startAt: shape(
    "a date, milliseconds of Unix time, or text such as '+10s'",
    (value) => value instanceof Date || ['number', 'string'].includes(typeof value),
  ),
  traceparent: shape("a share above 0 and up to 1, or text such as '1%'", (value) =>
    ['number', 'string'].includes(typeof value),
  ),
  buckets: listOf('a list of durations', duration),
  pid: shape('a process id, or false', (value) => value === false || typeof value === 'number'),
  signal: shape('an AbortSignal', (value) => value instanceof AbortSignal),
};

/** Other names of options, and the options that they stand for. */
export const OTHER_LOAD_NAMES: OtherNames<LoadOptions> = {
  conditions: 'failOn',
  tls: "it is handshake: 'full' or 'resume', with connection: 'close' for a connection per request",
  // autocannon, k6 and others.
  ...{ amount: 'requests', iterations: 'requests', workers: 'threads', vus: 'users' },
  ...{ overallRate: 'rate', maxOverallRequests: 'requests', servername: 'sni', bailout: 'failOn' },
  ...{ requestsFile: 'targetsFile', thresholds: 'failOn', setupRequest: 'targets' },
};

// The kinds of tests that `npm test` can run, and the files of a name or path.
import { readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { root } from '../step.js';

const MINUTE_MS = 60_000;

/** Files of `test/integration` that take too long for every change, for what they show: only slow tests have them. */
const ONLY_SLOW = [
  ...['moves', 'users', 'https', 'listen', 'ends', 'unusual', 'same-prefix'].map(
    (name) => `stack/sharing/${name}`,
  ),
  ...['robust', 'servers', 'soak', 'busy', 'embedding'].map((name) => `stack/process/${name}`),
  ...['deadlines/libraries', 'capacity/capacity'],
  ...['action/action', 'scripts/test'],
  ...['lab/engines', 'hosts/hosts', 'explain/probe-allocations', 'report/flame-graph'],
]
  .map((name) => integrationTest(name))
  .concat(
    ['capacity', 'explain/probe', 'explain/probe-calls'].map((name) =>
      join(root, 'test', 'timing', `${name}.test.js`),
    ),
  );

/** They trust no authorities but their own, which older versions of Node.js would read as each process starts: for 0.08 s. */
const LOCAL = { NODE_EXTRA_CA_CERTS: undefined };

/**
 * The kinds in the order in which they run: each is a folder below `test/`, of whose files so many run at once, each for so
 * long at most. What is timed runs alone; what takes long only where it is asked for.
 */
export const KINDS = {
  unit: { atOnce: availableParallelism(), limitMs: 5 * MINUTE_MS, env: LOCAL },
  // They wait as long as they compute, and time nothing.
  integration: { atOnce: 2 * availableParallelism(), limitMs: 5 * MINUTE_MS, env: LOCAL },
  timing: { atOnce: 1, limitMs: 10 * MINUTE_MS, env: LOCAL },
  slow: {
    ...{ atOnce: 1, limitMs: 75 * MINUTE_MS, isOptional: true },
    // At full size, which `test/fixtures/size.js` goes by.
    env: { MILLRACE_TEST_SIZE: 'full' },
    also: [
      'documents/commands',
      'load/http2/framing',
      'merge/damaged',
      'scripts/build',
      'stack/process/memory',
      'stack/instrumentation/wrapped',
      ...['messages/differential', 'connection/time-limits'].map((name) => `stack/${name}`),
      'stack/closing/shutdown',
      'stack/sharing/stopped',
      'stack/sweeps/writing',
      'stack/sweeps/identity',
      'stack/sweeps/properties',
      'stack/sweeps/documented',
      'stack/sweeps/time',
      'stack/sweeps/replaced-methods',
      'stack/sweeps/process-ends',
    ]
      .map((name) => integrationTest(name))
      .concat(join(root, 'test', 'unit', 'capacity', 'threshold.test.js'), ONLY_SLOW),
  },
};

/** The tests of the Rust crates, which `cargo` runs. */
export const RUST = 'rust';

/** Stands for the integration tests that depend on the version of Node.js: of what stands in for its code, and of modules. */
export const OF_VERSION = 'of-version';
const OF_VERSION_FOLDERS = ['stack', 'deadlines', 'client', 'scenario'];
/** Of other folders, files whose servers are modules of Node.js, or whose subject its hooks are. */
const OF_MODULES = ['load/http2/servers', 'explain/waits'].map((name) => integrationTest(name));
/**
 * Of these folders, files that run on one version: what the addon does alone, to processes, users, waiting requests and a busy
 * event loop, and what it keeps of answers, is the same on each, as are variables that are read; what is left of many requests,
 * and clients of npm under deadlines, are seen on each by slow tests.
 */
const OF_ONE_VERSION = [
  ...[
    'users',
    'ends',
    'stopped',
    'moves',
    'listen',
    'https',
    'sharing',
    'same-prefix',
    'tunnels',
  ].map((name) => `stack/sharing/${name}`),
  ...['busy', 'embedding', 'endings', 'memory'].map((name) => `stack/process/${name}`),
  ...['messages/differential', 'connection/time-limits'].map((name) => `stack/${name}`),
  ...[
    'authenticated',
    'cache',
    'command',
    'conditional',
    'outdating',
    'shared-memory',
    'values',
    'waiting',
  ].map((name) => `stack/cache/${name}`),
  'stack/closing/lingering',
  ...['environment', 'application', 'http2', 'libraries', 'process', 'proxies'].map(
    (name) => `deadlines/${name}`,
  ),
].map((name) => integrationTest(name));

const tests = join(root, 'test');

/**
 * What the arguments stand for, names of kinds or paths below `test/`; without any, all that is not optional. Gives whether
 * Rust's tests are among it, and the files by kind. Throws an Error of one line at what is neither.
 */
export function selectTests(args) {
  const all = Object.keys(KINDS).flatMap((kind) => listTestFiles(join(tests, kind)));
  const usual = [RUST, ...Object.keys(KINDS).filter((kind) => !KINDS[kind].isOptional)];
  const names = args.length > 0 ? args : usual;
  const files = new Set(
    names.filter((name) => name !== RUST).flatMap((name) => findFiles(name, all)),
  );
  const byKind = Object.keys(KINDS).map((kind) => ({
    kind,
    files: [
      ...all.filter((file) => files.has(file) && findKind(file) === kind),
      ...(names.includes(kind) ? (KINDS[kind].also ?? []) : []),
    ],
  }));
  return { rust: names.includes(RUST), parts: byKind.filter((part) => part.files.length > 0) };
}

/** Whether a file also runs on other versions of Node.js. */
export function dependsOnVersion(file) {
  const [kind, folder] = relative(tests, file).split(sep);
  if (kind !== 'integration') return false;
  const isOfFolder = OF_VERSION_FOLDERS.includes(folder) && !OF_ONE_VERSION.includes(file);
  return isOfFolder || OF_MODULES.includes(file);
}

/** Formats the name of a test file for messages: its path below `test/`, with slashes. */
export function formatName(file) {
  return relative(tests, file).split(sep).join('/');
}

function integrationTest(name) {
  return join(root, 'test', 'integration', `${name}.test.js`);
}

function findKind(file) {
  return relative(tests, file).split(sep)[0];
}

function findFiles(name, all) {
  const files = name === OF_VERSION ? all.filter(dependsOnVersion) : listBelow(name, all);
  if (files.length > 0) return files;
  const kinds = [RUST, ...Object.keys(KINDS), OF_VERSION].join(', ');
  throw new Error(`'${name}' contains no tests; use ${kinds}, or files and folders of test/`);
}

function listBelow(name, all) {
  const isKind = name in KINDS;
  const path = isKind ? join(tests, name) : resolve(name);
  return all.filter(
    (file) =>
      (file === path || file.startsWith(path + sep)) && !(isKind && ONLY_SLOW.includes(file)),
  );
}

function listTestFiles(folder) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const names = readdirSync(folder, { recursive: true }).filter((name) =>
    name.endsWith('.test.js'),
  );
  return names.sort().map((name) => join(folder, name));
}

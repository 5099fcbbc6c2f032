// Runs tests, with one summary for all of them:
//
//   npm test                              the tests of Rust, unit, integration and timing
//   npm test -- unit test/integration/stack
//                                         kinds, or files and folders
//   npm test -- unit of-version           tests that depend on the version of Node.js
//   npm test -- --node 26                 additionally, those tests on Node.js 26
//   npm run test:slow                     tests that take too long for every change: see test/slow/README.md
import { compose } from 'node:stream';
import { spec, tap } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { joined } from './tests/events.js';
import { fileEvents } from './tests/files.js';
import { dependsOnVersion, KINDS, RUST, selectTests } from './tests/kinds.js';
import { ownMajor } from './tests/node-binary.js';
import { MAX_RETRIES, Retries } from './tests/retries.js';
import { createRustParts } from './tests/rust.js';
import { Slowest } from './tests/slowest.js';

// A failure until all tests have passed, also if the output is no longer read.
process.exitCode = 1;
const retries = new Retries();
process.once('exit', () => retries.close());
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

try {
  const parts = planParts();
  const reporter = process.stdout.isTTY ? new spec() : tap;
  compose(events(parts), reporter).pipe(process.stdout);
} catch (error) {
  console.error(`test: ${error.message}`);
  process.exitCode = 2;
}

/** Plans the parts of this run, in order: `{ name, events }`. */
function planParts() {
  const { values, positionals } = parseArgs({
    options: { node: { type: 'string', multiple: true, default: [] } },
    allowPositionals: true,
  });
  const { rust, parts } = selectTests(positionals);
  const onOwn = parts
    .map((own) => ({ ...own, name: own.kind, major: ownMajor, atOnce: KINDS[own.kind].atOnce }))
    .map(createPart);
  // Files of `test/integration` also belong to the kind slow, which runs them at full size.
  const { files: integration = [] } = parts.find(({ kind }) => kind === 'integration') ?? {};
  const ofVersion = integration.filter(dependsOnVersion);
  if (values.node.length > 0 && ofVersion.length === 0) {
    throw new Error(
      `--node ${values.node[0]}: none of these tests depends on the version of Node.js`,
    );
  }
  const majors = [...new Set(values.node)].filter((major) => major !== ownMajor);
  const onVersions = majors
    .map((major) => ({ name: `integration on Node.js ${major}`, kind: 'integration', major }))
    .map((part) => createPart({ ...part, files: ofVersion, atOnce: KINDS.integration.atOnce }));
  const of = (...kinds) => onOwn.filter(({ name }) => kinds.includes(name));
  const { crates, models } = createRustParts();
  const first = rust ? [{ name: RUST, events: crates }] : [];
  const beside = rust ? [{ name: 'models', events: models }] : [];
  const others = [...of('unit', 'integration'), ...onVersions];
  return [...first, ...others, ...beside, ...of('timing', 'slow')];
}

function createPart({ name, kind, files, major, atOnce }) {
  const { limitMs, env } = KINDS[kind];
  const options = { files, atOnce, limitMs, major, env: { ...env, ...retries.env } };
  return { name, events: () => fileEvents(options) };
}

/** Yields the events of all parts, then the conclusion. */
async function* events(parts) {
  const slowest = new Slowest();
  const seconds = new Map();
  let hasFailed = false;
  const timed = parts.map(
    ({ name, events }) =>
      async function* () {
        const start = performance.now();
        yield* events();
        seconds.set(name, Math.round((performance.now() - start) / 1000));
      },
  );
  for await (const event of joined(timed, () => formatConclusion(seconds, slowest))) {
    slowest.see(event);
    if (event.type === 'test:fail' && event.data.todo === undefined) hasFailed = true;
    yield event;
  }
  process.exitCode = hasFailed || retries.lines().length > MAX_RETRIES ? 1 : 0;
}

/** Formats the lines before the totals. */
function formatConclusion(seconds, slowest) {
  const repeated = retries.lines();
  const all = [...seconds.values()].reduce((sum, each) => sum + each, 0);
  const each = [...seconds].map(([name, value]) => `${name} ${value} s`);
  return [
    'the slowest tests:',
    ...slowest.lines(),
    `measured again: ${repeated.length} (more than ${MAX_RETRIES} fail the run)`,
    ...repeated.map((line) => `  ${line}`),
    `time: ${each.join(', ')}; in all ${all} s`,
  ];
}

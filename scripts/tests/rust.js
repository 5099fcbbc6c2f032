// The tests of the Rust crates, each workspace as one test of the run.
import { profile } from '../cargo-profile.js';
import { run } from '../step.js';

const RESULT = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/gm;

const CRATES = { name: 'cargo test --workspace', args: [...profile, '--workspace'] };

/** What two threads share, and the simulation of the stack: no time of the machine's is in them. */
const MODELS = [
  { name: 'cargo test of loom/', args: ['--manifest-path', 'loom/Cargo.toml'] },
  { name: 'cargo test of simulation/', args: ['--manifest-path', 'simulation/Cargo.toml'] },
];

/**
 * Creates two parts of a run, functions that yield events as `run()` of node:test does: the tests of the crates, and the
 * models. The latter start when the former have ended, and take what the tests in between leave of the machine.
 */
export function createRustParts() {
  let models;
  return {
    async *crates() {
      const ended = await runTests(CRATES);
      models = MODELS.map((workspace) => runTests(workspace, LOW_PRIORITY));
      yield* reportTests([ended]);
    },
    async *models() {
      yield* reportTests(await Promise.all(models));
    },
  };
}

/** The beginning of a command that only takes what others leave. */
const LOW_PRIORITY = process.platform === 'win32' ? [] : ['nice', '-n', '19'];

/** Resolves to how `cargo test` of a workspace ended, and how long it took. */
async function runTests({ name, args }, before = []) {
  const start = performance.now();
  const [command, ...rest] = [...before, 'cargo', 'test', '--quiet', ...args];
  const { code, output } = await run(command, rest);
  return { name, code, output, details: { duration_ms: performance.now() - start } };
}

/** Yields the events of what has ended, totals included. */
function* reportTests(ended) {
  const totals = { tests: 0, pass: 0, fail: 0, skipped: 0 };
  for (const [index, { name, code, output, details }] of ended.entries()) {
    const data = { name, nesting: 0, testNumber: index + 1 };
    if (code === 0) {
      yield { type: 'test:pass', data: { ...data, details } };
    } else {
      const error = new Error(output.trimEnd() || `cargo ended with ${code}`);
      error.stack = '';
      yield { type: 'test:fail', data: { ...data, details: { ...details, error } } };
    }
    addTotals(totals, output, code);
  }
  yield { type: 'test:plan', data: { nesting: 0, count: ended.length } };
  for (const [name, count] of Object.entries(totals)) {
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${count}` } };
  }
}

/** Adds the tests that `cargo` reports; a failure that it does not count, such as of a build, counts as one. */
function addTotals(totals, output, code) {
  const [pass, fail, skipped] = [1, 2, 3].map((column) =>
    [...output.matchAll(RESULT)].reduce((sum, found) => sum + Number(found[column]), 0),
  );
  const failed = code === 0 ? fail : Math.max(1, fail);
  totals.tests += pass + failed + skipped;
  totals.pass += pass;
  totals.fail += failed;
  totals.skipped += skipped;
}

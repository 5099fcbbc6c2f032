// The tests of the Rust crates as one test of the run; those of what two threads share, and the simulation of the stack, as others.
import { profile } from '../cargo-profile.js';
import { run } from '../step.js';

const RESULT = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/gm;

const WORKSPACES = [
  { name: 'cargo test --workspace', args: [...profile, '--workspace'] },
  { name: 'cargo test of loom/', args: ['--manifest-path', 'loom/Cargo.toml'] },
  { name: 'cargo test of simulation/', args: ['--manifest-path', 'simulation/Cargo.toml'] },
];

/** Runs them, yields events as `run()` of node:test does, totals included. Only the first has tests that depend on time. */
export async function* rustEvents() {
  const totals = { tests: 0, pass: 0, fail: 0, skipped: 0 };
  const [first, ...others] = WORKSPACES;
  const runs = [runTests(first)];
  runs.push(...others.map((workspace) => runs[0].then(() => runTests(workspace))));
  for (const [index, { name }] of WORKSPACES.entries()) {
    const { code, output, details } = await runs[index];
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
  yield { type: 'test:plan', data: { nesting: 0, count: WORKSPACES.length } };
  for (const [name, count] of Object.entries(totals)) {
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${count}` } };
  }
}

/** Resolves to how `cargo test` of a workspace ended, and how long it took. */
async function runTests({ args }) {
  const start = performance.now();
  const result = await run('cargo', ['test', '--quiet', ...args]);
  return { ...result, details: { duration_ms: performance.now() - start } };
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

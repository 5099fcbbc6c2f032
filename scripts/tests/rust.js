// The tests of the Rust crates as one test of the run.
import { profile } from '../cargo-profile.js';
import { run } from '../step.js';

const RESULT = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/gm;

/** Runs them; yields events as `run()` of node:test does, totals included. */
export async function* rustEvents() {
  const start = performance.now();
  const { code, output } = await run('cargo', ['test', ...profile, '--workspace', '--quiet']);
  const details = { duration_ms: performance.now() - start };
  const data = { name: 'cargo test --workspace', nesting: 0, testNumber: 1 };
  if (code === 0) {
    yield { type: 'test:pass', data: { ...data, details } };
  } else {
    const error = new Error(output.trimEnd() || `cargo ended with ${code}`);
    error.stack = '';
    yield { type: 'test:fail', data: { ...data, details: { ...details, error } } };
  }
  yield { type: 'test:plan', data: { nesting: 0, count: 1 } };
  for (const [name, count] of Object.entries(countTotals(output, code))) {
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${count}` } };
  }
}

/** Counts the tests that `cargo` reports; a failure that it does not count, such as of a build, counts as one. */
function countTotals(output, code) {
  const [pass, fail, skipped] = [1, 2, 3].map((column) =>
    [...output.matchAll(RESULT)].reduce((sum, found) => sum + Number(found[column]), 0),
  );
  const failed = code === 0 ? fail : Math.max(1, fail);
  return { tests: pass + failed + skipped, pass, fail: failed, skipped };
}

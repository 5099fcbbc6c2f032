// The tests of Node in one run, with one summary: those of the stack two files at a time, all others one by one, since
// what they measure takes a machine of its own.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compose } from 'node:stream';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { root } from './step.js';

const TOTAL = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

const files = readdirSync(join(root, 'test')).filter((name) => name.endsWith('.test.js'));
const isOfStack = (name) => name.startsWith('stack-');
const parts = [
  { names: files.filter((name) => !isOfStack(name)), concurrency: 1 },
  { names: files.filter(isOfStack), concurrency: 2 },
];

// Until all have passed. So it fails, too, where nobody reads the output any more.
process.exitCode = 1;
const reporter = process.stdout.isTTY ? new spec() : tap;
compose(events(), reporter).pipe(process.stdout);

/** What all parts report, as if they were one: tests are numbered throughout, and totals are of all. */
async function* events() {
  const totals = new Map();
  let hasFailed = false;
  let tests = 0;
  for (const { names, concurrency } of parts) {
    const before = tests;
    const paths = names.map((name) => join(root, 'test', name));
    for await (const { type, data } of run({ files: paths, concurrency })) {
      const total = data.nesting === 0 && type === 'test:diagnostic' && TOTAL.exec(data.message);
      if (type === 'test:fail' && data.todo === undefined) hasFailed = true;
      // Of newer versions: what has failed is told once, at the end.
      const isSummary = type === 'test:summary' && data.file === undefined;
      if (isSummary && names !== parts.at(-1).names) continue;
      if (total) {
        totals.set(total[1], (totals.get(total[1]) ?? 0) + Number(total[2]));
      } else if (data.nesting !== 0) {
        yield { type, data };
      } else if (type === 'test:plan') {
        // The last one is that of the whole part.
        tests = before + data.count;
      } else if (type === 'test:pass' || type === 'test:fail') {
        yield { type, data: { ...data, testNumber: before + data.testNumber } };
      } else {
        yield { type, data };
      }
    }
  }
  yield { type: 'test:plan', data: { nesting: 0, count: tests } };
  for (const [name, value] of totals) {
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${value}` } };
  }
  process.exitCode = hasFailed ? 1 : 0;
}

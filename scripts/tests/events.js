// What the parts of a run report, as if they were one.
import { fork } from 'node:child_process';
import { on, once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../step.js';

const PART = fileURLToPath(new URL('part.js', import.meta.url));
const TOTAL = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

/** The events of test files on a Node.js, so many files at once; `env` is added to their environment. */
export async function* fileEvents({ files, atOnce, node, env }) {
  const child = fork(PART, [], {
    cwd: root,
    execPath: node,
    execArgv: [],
    // Tests start `node` and `npm` by name, too.
    env: { ...process.env, ...env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
  });
  const exited = once(child, 'exit');
  child.send({ files, atOnce });
  // The channel closes when all that was sent through it has arrived.
  for await (const [{ type, data }] of on(child, 'message', { close: ['disconnect'] })) {
    yield { type, data: withErrors(data) };
  }
  const [code, signal] = await exited;
  if (code !== 0) yield failure(`the tests on ${node} ended with ${code ?? signal}`);
}

/**
 * Joins the events of parts: tests are numbered throughout, and totals are of all. `parts` are functions that give the
 * events of one. The last events are those that `conclude` gives, then the totals.
 */
export async function* joined(parts, conclude) {
  const totals = new Map();
  let tests = 0;
  for (const part of parts) {
    const before = tests;
    for await (const { type, data } of part()) {
      const total = data.nesting === 0 && type === 'test:diagnostic' && TOTAL.exec(data.message);
      if (total) {
        totals.set(total[1], (totals.get(total[1]) ?? 0) + Number(total[2]));
      } else if (type === 'test:summary') {
        // What has failed is told once, by the totals.
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
  for (const line of conclude()) yield diagnostic(line);
  for (const [name, value] of totals) yield diagnostic(`${name} ${value}`);
}

function diagnostic(message) {
  return { type: 'test:diagnostic', data: { nesting: 0, message } };
}

function failure(message) {
  const error = new Error(message);
  error.stack = '';
  const details = { duration_ms: 0, error };
  return { type: 'test:fail', data: { name: message, nesting: 0, testNumber: 1, details } };
}

/** Errors came as plain objects; reporters look for real ones. */
function withErrors(data) {
  const error = data.details?.error;
  return error ? { ...data, details: { ...data.details, error: errorOf(error) } } : data;
}

function errorOf(plain) {
  if (!plain?.isError) return plain;
  const { isError: _, cause, ...fields } = plain;
  return Object.assign(new Error(plain.message), fields, { cause: errorOf(cause) });
}

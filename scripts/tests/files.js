// The events of test files, run by a Node.js of any version.
import { fork } from 'node:child_process';
import { on, once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../step.js';
import { fromPlain } from './errors.js';
import { Tally } from './events.js';
import { installNode } from './node-binary.js';

const PART = fileURLToPath(new URL('part.js', import.meta.url));

/**
 * Yields what `run()` of node:test reports of these files on the Node.js of a major version, so many files at once, each for
 * `limitMs` at most. `env` is added to their environment. A Node.js or a process that fails is a test that fails.
 */
export async function* fileEvents({ files, atOnce, limitMs, major, env }) {
  const tally = new Tally();
  let node;
  try {
    node = installNode(major);
  } catch (error) {
    yield* tally.failing(error.message);
    return;
  }
  const child = fork(PART, [], {
    ...{ cwd: root, execPath: node, execArgv: [] },
    env: { ...process.env, ...env, ...prependPath(node) },
  });
  const exited = once(child, 'exit');
  child.send({ files, atOnce, limitMs });
  // The channel closes when all that was sent through it has arrived.
  for await (const [{ type, data }] of on(child, 'message', { close: ['disconnect'] })) {
    const event = { type, data: fromPlain(data) };
    tally.see(event);
    yield event;
  }
  const [code, signal] = await exited;
  if (code !== 0) yield* tally.failing(`the tests on ${node} ended with ${code ?? signal}`);
}

/** Tests start `node` and `npm` by name, too. */
function prependPath(node) {
  if (node === process.execPath) return {};
  return { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
}

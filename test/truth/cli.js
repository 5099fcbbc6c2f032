import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

/** Starts the command line; `via` goes before it, as in `taskset -c 0`. */
export function startMillrace(args, { via = [] } = {}) {
  const [file, ...rest] = [...via, process.execPath, BIN, ...args];
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const ended = output.then(([stdout, stderr, [code]]) => ({ code, stdout, stderr }));
  return { child, ended };
}

/** Runs the command line to its end. */
export function millrace(args, options) {
  return startMillrace(args, options).ended;
}

/** Runs it with `--json`; the result is parsed. */
export async function millraceJson(args, options) {
  const { stdout, ...rest } = await millrace(['--json', ...args], options);
  if (stdout === '') throw new Error(`no result, exit code ${rest.code}: ${rest.stderr}`);
  return { ...rest, result: JSON.parse(stdout) };
}

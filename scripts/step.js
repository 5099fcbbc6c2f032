// The steps of a build or a check: a line with the time of each; the output of a step is printed only if it fails.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ProgressLine } from './progress-line.js';

/** Working directory of every step. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Finds the command of a development dependency. */
export function tool(name) {
  return join('node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);
}

/** Runs a command; prints `name  time`; resolves to whether it succeeded. */
export async function step(name, command, args) {
  return report(name, async () => {
    const { code, output } = await run(command, args);
    if (code !== 0) throw new Error(output.trimEnd() || `${command} ended with ${code}`);
  });
}

/** Calls `work` with its `ProgressLine`; prints `name  time` and the message of an error; resolves to whether it succeeded. */
export async function report(name, work) {
  const line = new ProgressLine(name);
  let failure;
  try {
    await work(line);
  } catch (error) {
    failure = error;
  }
  line.end(failure ? '  FAILED' : '');
  if (failure) console.error(failure.message);
  return failure === undefined;
}

/**
 * Runs a command; resolves to its exit code (null: it did not start, or a signal ended it) and all it wrote. `onOutput` gets
 * each part of that when it comes.
 */
export function run(command, args, { env = {}, onOutput = () => {} } = {}) {
  return new Promise((resolve) => {
    // Node starts a .cmd file only through a shell.
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      shell: command.endsWith('.cmd'),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        onOutput(text);
      });
    }
    child.on('error', (error) =>
      resolve({ code: null, output: `${error.message}: is it installed? (npm ci)` }),
    );
    child.on('close', (code) => resolve({ code, output }));
  });
}

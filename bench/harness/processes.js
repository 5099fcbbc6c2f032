// Starts processes on chosen cores, and ends those that remain when the harness ends.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const live = new Set();

process.on('exit', () => {
  for (const child of live) end(child, 'SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/**
 * A process; `exited` resolves to how it ended.
 *
 * @typedef {import('node:child_process').ChildProcess & { exited: Promise<{ code: number | null, signal: string | null }> }} Started
 */

/**
 * Starts `argv` on `cores` (a list as taskset takes it), as the head of a process group of its own.
 *
 * @param {string[]} argv
 * @param {string} cores
 * @param {import('node:child_process').SpawnOptions} [options]
 */
export function start(argv, cores, options = {}) {
  const child = /** @type {Started} */ (
    spawn('taskset', ['-c', cores, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
      detached: true,
      ...options,
    })
  );
  live.add(child);
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  child.exited = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      live.delete(child);
      resolve({ code, signal });
    });
  });
  return child;
}

/** Signals a process and all processes that it started. */
export function end(child, signal = 'SIGTERM') {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Collects the text of a stream; the returned function returns it. */
export function collect(stream) {
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  return () => text;
}

/** Finds the line that describes an error: that of an uncaught error, or the last one. Without paths of this machine. */
export function errorLine(text) {
  const lines = text.replaceAll(root, '').trim().split('\n');
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1);
}

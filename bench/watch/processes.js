// A service with millrace/observe, a load, and a watch.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CLI = root('bin/millrace.js');
export const OBSERVE = root('dist/probe/observe.cjs');

/** Starts a service, and resolves when its port is open. */
export async function startService(
  { service, node = [], env = {}, output = null },
  { port, directory, observe = true },
) {
  const file = service.startsWith('/') ? service : root(`bench/explain/services/${service}.js`);
  const preload = observe ? ['--import', OBSERVE] : [];
  const stdout = output === 'file' ? openSync(join(directory, `${port}.out`), 'a') : 'ignore';
  const child = spawn(process.execPath, [...node, ...preload, file], {
    env: { ...process.env, ...env, PORT: String(port), NODE_ENV: 'production' },
    stdio: ['ignore', stdout, 'ignore'],
  });
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    if (await isOpen(port)) return child;
    await sleep(50);
  }
  child.kill('SIGKILL');
  throw new Error(`the service ${service} does not start`);
}

async function isOpen(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Runs a load, and resolves with its result; `null` if it has none. */
export async function runLoad(flags, urls, seconds) {
  const args = [CLI, 'load', '-d', `${seconds}s`, ...flags, '--json', '--no-progress', ...urls];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(child, 'close');
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Starts a watch, whose reports are added to a list. */
export function startWatch(pid, flags = []) {
  const args = [CLI, 'explain', '--watch', '--pid', String(pid), '--json', ...flags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const reports = [];
  createInterface({ input: child.stdout }).on('line', (line) => reports.push(JSON.parse(line)));
  return { child, reports };
}

export async function stop(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

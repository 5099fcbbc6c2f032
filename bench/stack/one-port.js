// Starts servers of several processes on one port, each for its own path.
import { mkdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePorts } from '../../dist/process/listening/free-port.js';
import { buildProxyConfiguration } from '../servers/nginx.js';
import { findApp, startServing } from './app.js';

const ANSWER_LIMIT_MS = 5_000;

/** Starts the application `app` once for each of `paths`; the processes share a port. */
export async function startShared({ argv, app, paths, cores, directory }) {
  const [port] = await findFreePorts(1);
  const ports = join(directory, 'ports');
  mkdirSync(ports, { recursive: true });
  const commands = paths.map((path) => [...argv, findApp(app), `http://*:${port}${path}`]);
  const env = { MILLRACE_PORTS: ports };
  return startTogether(commands, { port, paths, cores, directory, env });
}

/** Starts the application `app` once for each of `paths`, each on its own port, and nginx in front of them. */
export async function startProxied({ argv, app, paths, cores, directory }) {
  const [port, ...own] = await findFreePorts(1 + paths.length);
  const behind = paths.map((path, index) => ({ path, port: own[index] }));
  const config = join(directory, 'nginx.conf');
  writeFileSync(config, buildProxyConfiguration({ directory, port, behind }));
  const apps = own.map((each) => [...argv, findApp(app), `${each}`]);
  const nginx = ['nginx', '-p', directory, '-e', 'stderr', '-c', config];
  return startTogether([...apps, nginx], { port, paths, cores, directory });
}

/** Starts the commands, among them an application for each of `paths`, and waits until all paths are served at `port`. */
async function startTogether(commands, { port, paths, ...options }) {
  const server = await startServing(runInParallel(commands), { ...options, count: paths.length });
  const url = `http://127.0.0.1:${port}/`;
  try {
    for (const path of paths) await waitUntilServed(new URL(path, url));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...server, url, port, root: server.pid };
}

/** Builds the command of a shell that runs commands in parallel: the CPU time of all its descendants counts. */
function runInParallel(commands) {
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const lines = commands.map((words) => `${words.map(quoted).join(' ')} &`);
  return ['sh', '-c', [...lines, 'wait'].join('\n')];
}

async function waitUntilServed(url) {
  const deadline = performance.now() + ANSWER_LIMIT_MS;
  let status = await readStatus(url);
  while (status !== 200) {
    if (performance.now() > deadline) throw new Error(`${url.pathname} is answered with ${status}`);
    await delay(10);
    status = await readStatus(url);
  }
}

/** Resolves with the status of the response, or with the code of the error. */
function readStatus(url) {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
      response.on('error', ({ code }) => resolve(code));
    }).on('error', ({ code }) => resolve(code));
  });
}

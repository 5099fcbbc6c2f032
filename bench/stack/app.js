// Starts the server of a case: an application of apps/ on a runtime of runtimes.js.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { listDescendants, readCpuNs } from '../harness/proc.js';
import { collect, end, errorLine, start } from '../harness/processes.js';

const START_LIMIT_MS = 10_000;
const END_LIMIT_MS = 5_000;

/**
 * Starts the application `app` with the command `argv` before it and `args` after it; `tls` are the files of a
 * certificate and its key.
 */
export async function startApp({ argv, app, args = [], cores, directory, tls, env }) {
  const files = tls ? [tls.cert, tls.key] : [];
  const words = [...argv, findApp(app), ...args.map(String), ...files];
  const server = await startServing(words, { cores, directory, env });
  const [port] = server.ports;
  return {
    ...server,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    port,
    cert: tls?.cert,
  };
}

/** Returns the file of an application: of the folder `apps` here, or of another folder of the benchmark. */
export function findApp(app) {
  const path = app.includes('/') ? `../${app}.js` : `apps/${app}.js`;
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Starts a command that runs `count` applications, and waits until each has printed its port. `stop()` resolves with
 * `{ served, moved }`: the requests that Millrace and Node's own code served, or null, and the number of moved connections.
 */
export async function startServing(argv, { count = 1, cores, directory, env: own }) {
  const statsFile = join(directory, 'stats');
  rmSync(statsFile, { force: true });
  const env = { ...process.env, ...own, NODE_ENV: 'production', MILLRACE_STATS_FILE: statsFile };
  const child = start(argv, cores, { env });
  const stderr = collect(child.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ports = await readFirstLines(count, child, lines, stderr);
  return {
    ports,
    pid: child.pid,
    /** The resources that the server has used so far. */
    async sample() {
      const { exitCode, signalCode } = child;
      if (exitCode !== null || signalCode) {
        throw new Error(`the server ended: ${signalCode ?? errorLine(stderr())}`);
      }
      return { serverCpuNs: readCpuNs([child.pid, ...listDescendants(child.pid)]) };
    },
    /** Resident bytes after a garbage collection; only the application `idle` reports them. */
    async residentBytes() {
      child.kill('SIGUSR2');
      const { done, value } = await lines.next();
      if (done) throw new Error(`the server ended: ${errorLine(stderr())}`);
      return JSON.parse(value).residentBytes;
    },
    async stop() {
      end(child);
      await waitForExit(child, END_LIMIT_MS);
      return {
        served: existsSync(statsFile) ? sumServed(readFileSync(statsFile, 'utf8')) : null,
        moved: await countMoved(lines),
      };
    },
  };
}

async function readFirstLines(count, child, lines, stderr) {
  const timer = setTimeout(() => end(child, 'SIGKILL'), START_LIMIT_MS);
  const ports = [];
  while (ports.length < count) {
    const { done, value } = await lines.next();
    if (done) break;
    // Frameworks print lines of their own.
    if (value.startsWith('{')) ports.push(JSON.parse(value).port);
  }
  clearTimeout(timer);
  if (ports.length === count) return ports;
  await child.exited;
  throw new Error(`the server did not start: ${errorLine(stderr())}`);
}

/** Counts the connections that moved to another process, by the last lines of the processes that report them. */
async function countMoved(lines) {
  let sum = 0;
  for await (const line of lines) if (line.startsWith('{')) sum += JSON.parse(line).moved ?? 0;
  return sum;
}

async function waitForExit(child, limitMs) {
  const timer = setTimeout(() => end(child, 'SIGKILL'), limitMs);
  await child.exited;
  clearTimeout(timer);
}

/**
 * Adds up the lines that the processes of a server wrote: `{ native, fallback, fallbackReasons }` of requests. Requests that the
 * cache answered count as native.
 */
export function sumServed(text) {
  const sum = { native: 0, fallback: 0, fallbackReasons: {} };
  for (const line of text.split('\n').filter(Boolean)) {
    const { requests, fallbackReasons = {} } = JSON.parse(line);
    sum.native += requests.native + (requests.cached ?? 0);
    sum.fallback += requests.fallback;
    for (const [why, count] of Object.entries(fallbackReasons)) {
      sum.fallbackReasons[why] = (sum.fallbackReasons[why] ?? 0) + count;
    }
  }
  return sum;
}

// The server of a case: an application of apps/ on a runtime of runtimes.js.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuNs } from '../proc.js';
import { collect, end, errorLine, start } from '../processes.js';

const START_LIMIT_MS = 10_000;
const END_LIMIT_MS = 5_000;

/**
 * Starts the application `app` with the words `argv` before it; `tls` is a certificate's pair of files. `stop()` gives
 * `{ served }`: what Millrace says of who served what, or null.
 */
export async function startApp({ argv, app, cores, directory, tls, env: own }) {
  const statsFile = join(directory, 'stats');
  rmSync(statsFile, { force: true });
  const path = fileURLToPath(new URL(`apps/${app}.js`, import.meta.url));
  const files = tls ? [tls.cert, tls.key] : [];
  const env = { ...process.env, ...own, NODE_ENV: 'production', MILLRACE_STATS_FILE: statsFile };
  const child = start([...argv, path, ...files], cores, { env });
  const stderr = collect(child.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { port } = await firstLine(child, lines, stderr);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    port,
    cert: tls?.cert,
    pid: child.pid,
    /** What the server has used so far. */
    async sample() {
      const { exitCode, signalCode } = child;
      if (exitCode !== null || signalCode) {
        throw new Error(`the server ended: ${signalCode ?? errorLine(stderr())}`);
      }
      return { serverCpuNs: cpuNs([child.pid]) };
    },
    /** Resident bytes after a collection of garbage; only the application `idle` tells them. */
    async residentBytes() {
      child.kill('SIGUSR2');
      const { done, value } = await lines.next();
      if (done) throw new Error(`the server ended: ${errorLine(stderr())}`);
      return JSON.parse(value).residentBytes;
    },
    async stop() {
      end(child);
      await exitWithin(child, END_LIMIT_MS);
      return { served: existsSync(statsFile) ? served(readFileSync(statsFile, 'utf8')) : null };
    },
  };
}

async function firstLine(child, lines, stderr) {
  const timer = setTimeout(() => end(child, 'SIGKILL'), START_LIMIT_MS);
  const { done, value } = await lines.next();
  clearTimeout(timer);
  if (!done) return JSON.parse(value);
  await child.exited;
  throw new Error(`the server did not start: ${errorLine(stderr())}`);
}

async function exitWithin(child, limitMs) {
  const timer = setTimeout(() => end(child, 'SIGKILL'), limitMs);
  await child.exited;
  clearTimeout(timer);
}

/**
 * The sum of the lines that the processes of a server left: `{ native, handedOver, reasons }`, of requests; those that the
 * cache answered are native.
 */
export function served(text) {
  const sum = { native: 0, handedOver: 0, reasons: {} };
  for (const line of text.split('\n').filter(Boolean)) {
    const { requests, reasons = {} } = JSON.parse(line);
    sum.native += requests.native + (requests.cached ?? 0);
    sum.handedOver += requests.handedOver;
    for (const [why, count] of Object.entries(reasons)) {
      sum.reasons[why] = (sum.reasons[why] ?? 0) + count;
    }
  }
  return sum;
}

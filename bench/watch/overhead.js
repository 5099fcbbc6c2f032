// What it costs services to be watched: the cost of a request and of an idle process, against the CPU time that a request of
// the service takes.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../dist/process/listening/free-port.js';
import { median } from '../../dist/statistics/median.js';
import { runLoad, startService, stop } from './processes.js';

const COST = fileURLToPath(new URL('cost.cjs', import.meta.url));
const SERVICES = ['hello', 'json', 'fetch', 'template'];
const [WARMUP_MS, SEGMENT_MS, SEGMENTS] = [3000, 1000, 8];

/** Yields a line for the probe, and one for each service. */
export async function* measureOverhead() {
  const { us, idle } = JSON.parse(execFileSync(process.execPath, [COST], { encoding: 'utf8' }));
  yield `Node.js ${process.versions.node}: the probe takes ${us.toFixed(2)} µs of CPU time per request, and ${percent(idle)} of a core without requests`;
  for (const service of SERVICES) {
    const requestUs = await measureRequestUs(service);
    yield `${service.padEnd(8)} ${requestUs.toFixed(0).padStart(6)} µs of CPU time per request: +${percent(us / requestUs)} watched`;
  }
}

function percent(share) {
  return `${(share * 100).toFixed(2)} %`;
}

/** CPU time of the service's main thread per request under load, in µs: the median of some segments. */
async function measureRequestUs(service) {
  const port = await findFreePort();
  const child = await startService({ service }, { port, directory: tmpdir() });
  try {
    const seconds = (WARMUP_MS + SEGMENTS * SEGMENT_MS) / 1000 + 2;
    const loaded = runLoad(['-c', '20'], [`http://127.0.0.1:${port}/`], seconds);
    await sleep(WARMUP_MS);
    const readings = [];
    for (let index = 0; index <= SEGMENTS; index++) {
      readings.push({ atMs: Date.now(), cpuMs: readCpuMs(child.pid) });
      await sleep(SEGMENT_MS);
    }
    const { startedAtMs, windowMs, series } = await loaded;
    const costs = readings.slice(1).map((to, index) => {
      const from = readings[index];
      const windows = series.filter(
        ({ tMs }) => startedAtMs + tMs >= from.atMs && startedAtMs + tMs + windowMs <= to.atMs,
      );
      const requests = windows.reduce((sum, { completed }) => sum + completed, 0);
      const perMs = requests / (windows.length * windowMs);
      return ((to.cpuMs - from.cpuMs) * 1000) / (perMs * (to.atMs - from.atMs));
    });
    return median(costs);
  } finally {
    await stop(child);
  }
}

/** CPU time of the main thread. */
function readCpuMs(pid) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

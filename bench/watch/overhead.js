// What a watch costs a service: requests per second without millrace/observe, with it, and watched, in rounds that alternate.
import { tmpdir } from 'node:os';
import { findFreePort } from '../../dist/process/listening/free-port.js';
import { runLoad, startService, startWatch, stop } from './processes.js';

const SERVICES = ['hello', 'json', 'fetch'];
const LOAD = ['-c', '20'];
const [WARMUP_S, MEASURE_S] = [2, 5];

/** Yields a line for each service: the ratios of throughput per CPU time of the service, with their intervals. */
export async function* measureOverhead(rounds) {
  for (const service of SERVICES) {
    const ratios = { observe: [], watched: [] };
    for (let round = 0; round < rounds; round++) {
      const [plain, watched, observe, again] = [
        await measure(service, 'plain'),
        await measure(service, 'watched'),
        await measure(service, 'observe'),
        await measure(service, 'plain'),
      ];
      const base = Math.sqrt(plain * again);
      ratios.observe.push(observe / base);
      ratios.watched.push(watched / base);
    }
    yield `${service.padEnd(8)} with millrace/observe ${describe(ratios.observe)}, watched ${describe(ratios.watched)}`;
  }
}

/** Requests per second of CPU time of the service: what others do on the machine changes that least. */
async function measure(service, how) {
  const port = await findFreePort();
  const observe = how !== 'plain';
  const child = await startService({ service }, { port, directory: tmpdir(), observe });
  const watch = how === 'watched' ? startWatch(child.pid) : null;
  const urls = [`http://127.0.0.1:${port}/`];
  try {
    await runLoad(LOAD, urls, WARMUP_S);
    const result = await runLoad(LOAD, urls, MEASURE_S);
    return result.throughput.mean / result.server.cpuMean;
  } finally {
    if (watch) await stop(watch.child, 'SIGTERM');
    await stop(child);
  }
}

/** The geometric mean of ratios, with the interval of twice its standard error. */
function describe(ratios) {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const error = 2 * Math.sqrt(variance / logs.length);
  const at = (log) => `${((Math.exp(log) - 1) * 100).toFixed(1)} %`;
  return `${at(mean)} [${at(mean - error)}, ${at(mean + error)}]`;
}

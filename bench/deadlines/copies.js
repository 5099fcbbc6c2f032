// What undici's calls cost more where deadlines hear of them, within one process: there are two copies of undici, one of
// which uses diagnostics channels of other names, so that nobody hears of its calls. Blocks of calls by either take turns.
//
//   fork: [--import millrace/deadlines] copies.js PORT AT_ONCE FOLDER FOLDER (of the copies)
//   message: { rounds, calls } -> microseconds of CPU time for a call, the median of the blocks, in the order of the folders
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { median } from '../statistics.js';
import { make } from './calls.js';

const UNDICI = fileURLToPath(new URL('../../node_modules/undici', import.meta.url));
const CHANNELS = join('lib', 'core', 'diagnostics.js');

/** Both copies, in a folder of their own: which of them is heard is all that differs. */
export async function makeCopies() {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-undici-'));
  const [heard, unheard] = ['heard', 'unheard'].map((name) => join(folder, name));
  for (const copy of [heard, unheard]) await cp(UNDICI, copy, { recursive: true });
  const channels = join(unheard, CHANNELS);
  const text = await readFile(channels, 'utf8');
  await writeFile(channels, text.replaceAll("channel('undici:", "channel('unheard:"));
  return { heard, unheard, remove: () => rm(folder, { recursive: true }) };
}

async function main([port, atOnce, ...folders]) {
  const url = `http://127.0.0.1:${port}/`;
  const calls = [];
  for (const folder of folders) {
    const { default: undici } = await import(pathToFileURL(join(folder, 'index.js')));
    // Copies share what `setGlobalDispatcher` sets.
    const dispatcher = new undici.Agent();
    calls.push(callBy(undici.request, url, { dispatcher }));
  }
  process.on('message', async ({ rounds, calls: count }) => {
    const costs = calls.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < 2; turn++) {
        const place = (round + turn) % 2;
        // The first calls find the other copy's code and data in the processor's caches.
        await make(calls[place], atOnce, atOnce);
        const before = process.cpuUsage();
        await make(calls[place], count, atOnce);
        const { user, system } = process.cpuUsage(before);
        costs[place].push((user + system) / count);
      }
    }
    process.send(costs.map(median));
  });
}

/** A function of its own for each copy: one of both would be compiled for both. */
function callBy(request, url, options) {
  const source = 'return async () => void (await (await request(url, options)).body.text())';
  return new Function('request', 'url', 'options', source)(request, url, options);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

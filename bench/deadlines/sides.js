// What a call costs where deadlines observe it and where they do not, within one process. Blocks of calls of the two
// sides alternate, so that differences between processes, and between one second and the next, are in neither.
//
// undici and its `fetch` are used in two copies, of which one has diagnostics channels of other names, so that nothing
// observes its calls. Calls of `node:http` are made by the original function on one side. In the case `controller` both
// sides use the copy that is not observed; they differ in `setTimeout` and the getter of `AbortController.signal`,
// patched or original.
//
//   fork: --import originals.js [--import millrace/deadlines/register] sides.js CASE PORT AT_ONCE FIRST FOLDER
//   CASE: http | fetch | undici | controller
//   FIRST: observed | plain, the side that is made first; FOLDER: of the copies
//   message: { rounds, calls } -> microseconds of CPU time for a call of each side, the median of the blocks
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { computeMedian } from '../harness/statistics.js';
import * as originals from './originals.js';

/** The copy of undici that is measured. */
export const UNDICI = fileURLToPath(new URL('../../node_modules/undici', import.meta.url));
const CHANNELS = join('lib', 'core', 'diagnostics.js');
const SIDES = ['observed', 'plain'];
/** The delay of a timer that ends a call, as SDKs start it: it is longer than the call. */
const TIMER_MS = 10_000;

/** Both copies of undici, in a folder of their own. */
export async function makeCopies() {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-undici-'));
  for (const side of SIDES) await cp(UNDICI, join(folder, side), { recursive: true });
  const channels = join(folder, 'plain', CHANNELS);
  const text = await readFile(channels, 'utf8');
  await writeFile(channels, text.replaceAll("channel('undici:", "channel('plain:"));
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

/** Makes one call of a side. */
const callers = {
  async http(side, port) {
    const { get } = side === 'observed' ? http : originals;
    const agent = new http.Agent({ keepAlive: true });
    return own(
      `return () => new Promise((resolve, reject) => {
        const call = ask(options, (response) => response.on('end', resolve).resume());
        call.on('error', reject);
      })`,
      get,
      { host: '127.0.0.1', port, agent },
    );
  },
  async fetch(side, port, folder) {
    const { fetch, Agent } = await copyOf(side, folder);
    const source = 'return async () => void (await (await ask(url, options)).text())';
    return own(source, fetch, { url: urlOf(port), dispatcher: new Agent() });
  },
  async undici(side, port, folder) {
    const { request, Agent } = await copyOf(side, folder);
    const source = 'return async () => void (await (await ask(url, options)).body.text())';
    return own(source, request, { url: urlOf(port), dispatcher: new Agent() });
  },
  /** With a controller and a timer, as SDKs make their calls. */
  async controller(side, port, folder) {
    const { request, Agent } = await copyOf('plain', folder);
    const { get } = Object.getOwnPropertyDescriptor(AbortController.prototype, 'signal');
    const tools = side === 'observed' ? { setTimeout, readSignal: get } : originals;
    return own(
      `return async () => {
        const controller = new AbortController();
        const timer = options.startTimer(() => controller.abort(), ${TIMER_MS});
        const signal = options.readSignal.call(controller);
        await (await ask(url, { dispatcher: options.dispatcher, signal })).body.text();
        clearTimeout(timer);
      }`,
      request,
      {
        url: urlOf(port),
        dispatcher: new Agent(),
        startTimer: tools.setTimeout,
        readSignal: tools.readSignal,
      },
    );
  },
};

/** To be used with an agent of its own: copies share what `setGlobalDispatcher` sets. */
async function copyOf(side, folder) {
  return (await import(pathToFileURL(join(folder, side, 'index.js')))).default;
}

function urlOf(port) {
  return `http://127.0.0.1:${port}/`;
}

/** A function of its own for each side: one of both would be compiled for both. */
function own(source, ask, { url, ...options }) {
  return new Function('ask', 'url', 'options', source)(ask, url, options);
}

async function make(call, calls, atOnce) {
  let left = calls;
  const some = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: atOnce }, some));
}

async function main([name, port, atOnceText, first, folder]) {
  const atOnce = Number(atOnceText);
  const calls = {};
  const order = first === 'observed' ? SIDES : SIDES.toReversed();
  for (const side of order) calls[side] = await callers[name](side, port, folder);
  process.on('message', async ({ rounds, calls: count }) => {
    const costs = { observed: [], plain: [] };
    for (let round = 0; round < rounds; round++) {
      for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
        // The first calls find the other side's code and data in the processor's caches.
        await make(calls[side], atOnce, atOnce);
        const before = process.cpuUsage();
        await make(calls[side], count, atOnce);
        const { user, system } = process.cpuUsage(before);
        costs[side].push((user + system) / count);
      }
    }
    process.send({ observed: computeMedian(costs.observed), plain: computeMedian(costs.plain) });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

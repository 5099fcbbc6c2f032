// Finds leaks: many calls, every tenth of which is never answered and ends by its limit. Prints what the process holds
// after the first tenth of the calls and after all, and fails if it has grown.
//
//   npm run bench -- deadlines --soak [--calls N]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { request } from 'undici';
import { stats } from '../../dist/deadlines/index.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const calls = Number(process.argv[2] ?? 100_000);
/** Concurrent calls. */
const AT_ONCE = 200;
/** Maximum growth of the heap, in bytes. */
const MAX_GROWTH = 3_000_000;

const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('server.js', import.meta.url)), '5', '10'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const port = String((await once(server.stdout, 'data'))[0]).trim();
const url = `http://127.0.0.1:${port}/`;
const agent = new http.Agent({ keepAlive: true });

const kinds = [
  () =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, agent };
      const call = http.get(options, (response) => response.on('end', resolve).resume());
      call.on('error', reject);
    }),
  async () => void (await (await fetch(url)).text()),
  async () => void (await (await request(url)).body.text()),
];

const ended = { answered: 0, limited: 0, other: 0 };
let begun = 0;

async function callUntil(count) {
  while (begun < count) {
    try {
      await kinds[begun++ % kinds.length]();
      ended.answered++;
    } catch (error) {
      ended[(error.cause ?? error).limit === 'total' ? 'limited' : 'other']++;
    }
  }
}

/** Measures what the process holds once nothing is in flight and idle connections are closed. */
async function measureResources() {
  agent.destroy();
  // undici keeps idle connections for four seconds, and its own timers look once a second.
  await sleep(6000);
  for (let i = 0; i < 4; i++) {
    gc();
    await sleep(50);
  }
  const resources = process.getActiveResourcesInfo();
  const count = (name) => resources.filter((one) => one === name).length;
  return {
    heapBytes: process.memoryUsage().heapUsed,
    descriptors: readdirSync('/proc/self/fd').length,
    sockets: count('TCPSocketWrap'),
    timers: count('Timeout'),
    inFlight: stats().inFlight,
  };
}

const run = (count) => Promise.all(Array.from({ length: AT_ONCE }, () => callUntil(count)));

await run(calls / 10);
const before = await measureResources();
await run(calls);
const after = await measureResources();
const { hits } = stats();
console.log(JSON.stringify({ calls, ended, hits, before, after }, null, 1));

const grown = ['descriptors', 'sockets', 'timers', 'inFlight'].filter(
  (name) => after[name] > before[name],
);
if (after.heapBytes - before.heapBytes > MAX_GROWTH) grown.push('heapBytes');
if (hits.total !== ended.limited) grown.push('hits that are no errors');
console.log(grown.length === 0 ? 'no leak' : `grown: ${grown.join(', ')}`);
server.kill();
process.exit(grown.length === 0 && ended.other === 0 ? 0 : 1);

// Makes calls, so many at once, for some seconds; prints what one of them cost as JSON: `{ calls, cpuUs, wallUs }`.
// The first second warms up.
//
//   node [--import millrace/deadlines] client.js (http | fetch | undici) PORT AT_ONCE SECONDS
import http from 'node:http';

const [kind, port, atOnce, seconds] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}/`;
const agent = new http.Agent({ keepAlive: true });
const { request } = kind === 'undici' ? await import('undici') : {};

const kinds = {
  http: () =>
    new Promise((resolve, reject) => {
      const call = http.get({ host: '127.0.0.1', port, agent }, (response) => {
        response.on('end', resolve).resume();
      });
      call.on('error', reject);
    }),
  fetch: async () => void (await (await fetch(url)).text()),
  undici: async () => void (await (await request(url)).body.text()),
};

let calls = 0;
const call = kinds[kind];

async function callUntil(end) {
  while (performance.now() < end) {
    await call();
    calls++;
  }
}

async function run(ms) {
  const end = performance.now() + ms;
  await Promise.all(Array.from({ length: Number(atOnce) }, () => callUntil(end)));
}

await run(1000);
calls = 0;
const cpu = process.cpuUsage();
const since = performance.now();
await run(1000 * seconds);
const { user, system } = process.cpuUsage(cpu);
const wallUs = (1000 * (performance.now() - since)) / calls;
console.log(JSON.stringify({ calls, cpuUs: (user + system) / calls, wallUs }));
process.exit();

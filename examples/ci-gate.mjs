// Fails a build if a service is too slow or returns errors. On the command line the same is
//   npx millrace -R 200 --warmup 1s --fail-on 'p99<100ms' --fail-on 'errors<1' -- node examples/server.js
// Here with the limit for p99 in milliseconds:
//   node examples/ci-gate.mjs 100 10s
import { fileURLToPath } from 'node:url';
import { load } from 'millrace';

const [limitMs = '100', duration = '10s'] = process.argv.slice(2);
const server = fileURLToPath(new URL('server.js', import.meta.url));

const { latencyMs, requests, generator } = await load({
  command: [process.execPath, server],
  rate: 200,
  warmup: '1s',
  duration,
});

const p99 = latencyMs.p99?.toFixed(2);
const failures = [];
// p99 is null if nothing was measured: that is not a success.
if (!(latencyMs.p99 !== null && latencyMs.p99 < Number(limitMs))) {
  failures.push(`p99 is ${p99} ms, allowed is less than ${limitMs} ms`);
}
const failed = requests.sent - requests.ok - requests.inFlightAtEnd;
if (failed > 0) failures.push(`${failed} of ${requests.sent} requests failed`);
// A machine that was too busy to measure says nothing about the service.
if (generator.clientBound) console.log(`doubtful: ${generator.reasons.join('; ')}`);

for (const failure of failures) console.log(`FAILED: ${failure}`);
if (failures.length === 0) console.log(`ok: p99 is ${p99} ms`);
process.exitCode = failures.length === 0 ? 0 : 1;

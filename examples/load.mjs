// Loads a server and prints a few numbers of the result.
// With `node examples/server.js` in another terminal:
//   node examples/load.mjs http://127.0.0.1:8080/ 5s
import { load } from 'millrace';

const [url = 'http://127.0.0.1:8080/', duration = '5s'] = process.argv.slice(2);

const result = await load({ url, duration, connections: 50 });

const { requests, throughput, latencyMs, warnings } = result;
console.log(`${Math.round(throughput.mean)} requests/s`);
console.log(`latency p50 ${latencyMs.p50?.toFixed(2)} ms, p99 ${latencyMs.p99?.toFixed(2)} ms`);
console.log(
  `${requests.sent} sent: ${requests.ok} ok, ${requests.inFlightAtEnd} in flight at the end`,
);
// Warnings about the numbers, such as a generator that was the limit.
for (const { message } of warnings) console.log(`warning: ${message}`);

// How much can a server take? A few rates, one after the other, until one is not reached.
//   node examples/capacity-by-hand.mjs 3s 100 200 400 800
import { load, startTestServer } from 'millrace';

const [duration = '3s', ...words] = process.argv.slice(2);
const rates = words.length > 0 ? words.map(Number) : [100, 200, 400, 800];

// 10 connections to a service that takes 20 ms: room for 10 / 0.02 s = 500 requests a second.
const server = await startTestServer({ processes: 1, delay: 20 });
const connections = 10;

console.log('  asked  completed  service p99  latency p99');
for (const rate of rates) {
  const result = await load({ url: server.url, rate, connections, duration });
  const { throughput, serviceTimeMs, latencyMs, warnings } = result;
  console.log(
    [
      `${rate}/s`.padStart(7),
      `${throughput.mean.toFixed(0)}/s`.padStart(11),
      `${serviceTimeMs.p99?.toFixed(1)} ms`.padStart(13),
      `${latencyMs.p99?.toFixed(1)} ms`.padStart(13),
    ].join(''),
  );
  if (warnings.some(({ id }) => id === 'rate-not-reached')) {
    console.log(`${rate}/s is more than it can take`);
    break;
  }
}

await server.close();

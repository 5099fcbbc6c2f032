// Ends a run early: here as soon as 100 requests have failed.
//   node examples/abort.mjs
import { load, startTestServer } from 'millrace';

// Every tenth request is answered with 500.
const server = await startTestServer({ processes: 1, delay: 5, errorRate: 0.1 });

const controller = new AbortController();
const run = load({
  url: server.url,
  connections: 20,
  duration: '60s',
  signal: controller.signal,
});

for await (const { errors } of run) {
  if (errors >= 100) controller.abort();
}

// A run that is ended early still has a result.
const { interrupted, durationMs, requests } = await run;
console.log(`interrupted: ${interrupted}, after ${(durationMs / 1000).toFixed(1)} s`);
console.log(`${requests.statusErrors} of ${requests.sent} requests failed`);

await server.close();

// Starts a server, loads it at a fixed rate, and shows what happens while it does.
//   node examples/progress.mjs 5s
import { fileURLToPath } from 'node:url';
import { load } from 'millrace';

const [duration = '5s'] = process.argv.slice(2);
const server = fileURLToPath(new URL('server.js', import.meta.url));

// The command's port is found; the server is stopped after the run, also when it fails.
const run = load({ command: [process.execPath, server], rate: 500, duration });

// Ten snapshots a second. `await run` alone would do as well.
for await (const { phase, elapsedMs, completed, errors, inFlight, p99Ms } of run) {
  if (phase !== 'measure') continue;
  const seconds = (elapsedMs / 1000).toFixed(1);
  const p99 = p99Ms?.toFixed(2) ?? '-';
  console.log(
    `${seconds} s: ${completed} done, ${errors} failed, ${inFlight} in flight, p99 ${p99} ms`,
  );
}

const result = await run;
console.log(`${result.requests.sent} sent, ${result.requests.ok} ok`);
// CPU and memory of the server are known on Linux.
if (result.server) {
  const { cpuMean, rssMaxMb } = result.server;
  console.log(`the server used ${cpuMean.toFixed(2)} cores and ${rssMaxMb.toFixed(0)} MB`);
}

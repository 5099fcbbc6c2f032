// Runs one part of a run in a process of its own, so that its Node.js may be another than that of the run: takes
// `{ files, atOnce, limitMs }` from its parent, and sends what `run()` of node:test reports.
import { once } from 'node:events';
import { run } from 'node:test';
import { toPlain } from './errors.js';

// The tests end with the run.
const lost = new AbortController();
const onLost = () => lost.abort();
process.on('disconnect', onLost);
const [{ files, atOnce, limitMs }] = await once(process, 'message');
const events = run({ files, concurrency: atOnce, timeout: limitMs, signal: lost.signal });
for await (const { type, data } of events) {
  if (process.connected) await send({ type, data: toPlain(data) });
}
if (lost.signal.aborted) process.exit(1);
process.off('disconnect', onLost);
process.disconnect();

function send(message) {
  return new Promise((resolve) => process.send(message, resolve));
}

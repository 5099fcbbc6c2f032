// Loaded before a server: writes what clinic doctor would look at to the file MILLRACE_BENCH_SAMPLES, a line of JSON
// for each second. Like doctor it does not look into the processes of a cluster.
import { openSync, writeSync } from 'node:fs';
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 10;
const FLUSH_MS = 1000;
const file = process.env.MILLRACE_BENCH_SAMPLES;
const stopping = new Set([
  constants.NODE_PERFORMANCE_GC_MINOR,
  constants.NODE_PERFORMANCE_GC_MAJOR,
  constants.NODE_PERFORMANCE_GC_INCREMENTAL,
]);

function sample(descriptor) {
  let batch = { samples: [], collections: [] };
  let last = performance.now();
  let flushed = last;
  let cpu = process.cpuUsage();

  new PerformanceObserver((list) => {
    for (const { startTime, duration, detail } of list.getEntries()) {
      if (!stopping.has(detail.kind)) continue;
      batch.collections.push({ tMs: performance.timeOrigin + startTime, ms: duration });
    }
  }).observe({ entryTypes: ['gc'] });

  function take() {
    const now = performance.now();
    const { user, system } = process.cpuUsage(cpu);
    batch.samples.push({
      tMs: performance.timeOrigin + now,
      delayMs: Math.max(0, now - last - EVERY_MS),
      cpu: (user + system) / 1000 / (now - last),
      utilization: performance.eventLoopUtilization().utilization,
    });
    if (now - flushed >= FLUSH_MS) {
      writeSync(descriptor, `${JSON.stringify(batch)}\n`);
      batch = { samples: [], collections: [] };
      flushed = now;
    }
    last = performance.now();
    cpu = process.cpuUsage();
    setTimeout(take, EVERY_MS).unref();
  }
  setTimeout(take, EVERY_MS).unref();
}

const worker = process.env.NODE_UNIQUE_ID !== undefined;
/** A process that the service has forked, as a dependency of it. */
const forked = process.connected;
if (file && isMainThread) {
  // Opened now: later there may be no descriptor left.
  const descriptor = openSync(file, 'a');
  if (worker) writeSync(descriptor, `${JSON.stringify({ cluster: true })}\n`);
  else if (!forked) sample(descriptor);
}

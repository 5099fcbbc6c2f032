// What the probe in production costs a process: CPU time of a request that does nothing, with the probe and without, and CPU
// time of an idle process. The least of many trials counts, as other programs on the machine only add to it.
const { channel } = require('node:diagnostics_channel');
const { setTimeout: sleep } = require('node:timers/promises');
const { ProbeObserver } = require('../../dist/probe/observer.cjs');
const { SynchronousWrites } = require('../../dist/probe/runtime/synchronous-writes.cjs');

const [TRIALS, REQUESTS, IDLE_MS] = [30, 20_000, 1500];
const start = channel('http.server.request.start');
const finish = channel('http.server.response.finish');

/** CPU time of a request, as Node.js announces it, in µs. */
async function measureRequests() {
  const before = process.cpuUsage();
  for (let index = 0; index < REQUESTS; index++) {
    const message = {
      request: { method: 'GET', url: '/path', socket: { localPort: 80 } },
      response: { destroyed: false, statusCode: 200 },
    };
    if (start.hasSubscribers) start.publish(message);
    await new Promise((resolve) => process.nextTick(resolve));
    if (finish.hasSubscribers) finish.publish(message);
  }
  return readCpuUs(before) / REQUESTS;
}

/** CPU time of a process without requests, as a share of a core. */
async function measureIdle() {
  const before = process.cpuUsage();
  await sleep(IDLE_MS);
  return readCpuUs(before) / 1000 / IDLE_MS;
}

function readCpuUs(before) {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function findLeast(measure, trials) {
  let least = Number.POSITIVE_INFINITY;
  for (let trial = 0; trial < trials; trial++) least = Math.min(least, await measure());
  return least;
}

async function main() {
  const observer = new ProbeObserver(new SynchronousWrites(), true);
  const plain = {
    us: await findLeast(measureRequests, TRIALS),
    idle: await findLeast(measureIdle, 3),
  };
  observer.observe(true);
  const sampling = setInterval(() => JSON.stringify(observer.sample()), 1000);
  const observed = {
    us: await findLeast(measureRequests, TRIALS),
    idle: await findLeast(measureIdle, 3),
  };
  clearInterval(sampling);
  observer.observe(false);
  console.log(JSON.stringify({ us: observed.us - plain.us, idle: observed.idle - plain.idle }));
  process.exit();
}

main();

// The CPU of the server, and what keeps its loop from running.
const env = { REMEDY: '1' };
const busyLoop = ['event-loop-cpu', 'single-core'];
const oneCore = 'one loop is all that runs, so a second process would help as well';

/** One loop that is busy with requests all the time; the remedy is a second one, as what less work would give depends on whose it is. */
const onCpu = (name, because) => ({
  name,
  flags: ['-c', '20'],
  expected: busyLoop,
  because: `${because}; ${oneCore}`,
  remedy: {
    change: 'two processes',
    promise: 'more processes',
    service: 'two-processes',
    env: { SERVICE: name },
  },
});

const gzip = {
  flags: ['-c', '20', '-H', 'Accept-Encoding: gzip'],
  expected: ['compression'],
  remedy: { change: 'no compression', flags: ['-c', '20'] },
};

export const cpu = [
  onCpu('json', 'CPU of a request 1 to 2 ms, nearly all in JSON.parse and JSON.stringify, X = 1/D'),
  onCpu(
    'hot-function',
    'CPU of a request above 2 ms, three quarters of it in one function, X = 1/D',
  ),
  onCpu('template', 'CPU of a request near 1 ms, most of it in replacing, X = 1/D'),
  onCpu('middleware', 'CPU of a request some 0.2 ms over thirty middlewares, X = 1/D'),
  {
    ...onCpu(
      'spread',
      '300 copies of a growing list for each request, X = 1/D; a quarter of it is garbage collection',
    ),
    partly: ['gc-young'],
  },
  {
    name: 'single-core',
    service: 'tokens',
    flags: ['-c', '20'],
    expected: ['single-core', 'event-loop-cpu'],
    because:
      'CPU near 1 ms for each request, spread over signing, sorting, rendering; a core stays idle',
    remedy: { change: 'two processes', promise: 'more processes', env: { WORKERS: '2' } },
  },
  {
    name: 'report',
    flags: ['-c', '20'],
    expected: ['event-loop-blocked', 'event-loop-cpu'],
    partly: ['single-core'],
    because:
      'every fiftieth request blocks the loop for 100 ms, in which nobody is served: 50 requests in about 150 ms, 49 of them in 1 ms each',
    remedy: { change: 'reports are made beforehand', env },
  },
  {
    name: 'search-route',
    flags: ['-c', '20'],
    paths: ['/search', ...Array.from({ length: 9 }, () => '/item')],
    expected: ['event-loop-blocked', 'event-loop-cpu'],
    partly: ['single-core'],
    because:
      'a tenth of the requests match a pattern for some 80 ms each: 10 requests in about 80 ms, the others wait 10 ms by themselves',
    remedy: { change: 'a pattern that does not go back', env },
  },
  {
    name: 'blocking-timer',
    flags: ['-c', '20'],
    expected: ['event-loop-blocked', 'idle-work'],
    partly: ['event-loop-cpu'],
    because:
      'a timer takes the loop for 150 of 250 ms, with or without requests: 0.4 of the throughput remains',
    remedy: { change: 'no timer', env },
  },
  {
    name: 'atomics-wait',
    flags: ['-c', '20'],
    expected: ['event-loop-sync-wait'],
    because:
      '1 / 5 ms = 200/s one after the other; the main thread uses less than a tenth of a core, while the loop is always busy',
    remedy: { change: 'an asynchronous wait', env },
  },
  {
    name: 'exec-sync',
    flags: ['-c', '20'],
    expected: ['event-loop-sync-wait'],
    because:
      'a program that sleeps for 20 ms for each request, waited for: below 50/s, CPU some 10 %, the loop is always busy',
    remedy: { change: 'execFile', env },
  },
  {
    name: 'write-sync',
    flags: ['-c', '20'],
    expected: ['synchronous-writes', 'event-loop-sync-wait', 'disk'],
    because:
      'a write that blocks for 15 ms for each request: 1 / 15 ms = 66/s; CPU some 3 %, the loop is always busy',
    remedy: { change: 'an asynchronous write: 4 threads / 15 ms', env },
  },
  {
    name: 'survivors',
    flags: ['-c', '20'],
    expected: ['gc-young'],
    partly: busyLoop,
    because:
      'more than half of the loop’s time is scavenges (kind 1 of the gc entries), which copy the objects of 30 requests each',
    remedy: { change: 'semi-spaces of 64 MB', node: ['--max-semi-space-size=64'] },
  },
  {
    name: 'documents',
    flags: ['-c', '64'],
    expected: ['gc-young'],
    partly: busyLoop,
    because:
      'more than half of the loop’s time is scavenges (kind 1), which copy the objects of the 64 requests that wait',
    remedy: { change: 'semi-spaces of 128 MB', node: ['--max-semi-space-size=128'] },
  },
  {
    name: 'full-heap',
    flags: ['-c', '20'],
    node: ['--max-old-space-size=105'],
    expected: ['gc-old'],
    partly: busyLoop,
    because:
      '75 MB live in a heap of 105 MB: marking takes most of the loop’s time, in steps and in pauses of kind 4 near 100 ms',
    remedy: { change: 'a heap of 1 GB', node: ['--max-old-space-size=1000'] },
  },
  {
    name: 'leak',
    flags: ['-R', '100'],
    expected: ['memory-growth'],
    because:
      '100/s · 100 kB = 10 MB/s for ever, at a constant number of requests in flight; the rate itself is served',
  },
  {
    name: 'in-flight',
    flags: ['-R', '100'],
    expected: ['memory-growth', 'slow-dependency'],
    because:
      '100/s · 3 s = 300 requests in flight with 2 MB each: 600 MB, caused by a dependency that is waited for without a limit',
  },
  {
    ...gzip,
    name: 'gzip-sync',
    partly: busyLoop,
    because:
      'compressing 200 kB takes some 5 ms of the main thread; without it the same answer costs less than a tenth',
  },
  {
    ...gzip,
    name: 'gzip-stream',
    partly: ['threadpool'],
    because:
      'compressing 300 kB takes some 8 ms on a thread of the pool: both cores / 8 ms; without it ten times as many',
  },
  {
    name: 'log-lines',
    flags: ['-c', '20'],
    output: 'file',
    expected: ['logging'],
    partly: busyLoop,
    because:
      'ten formatted lines, each a write to a file, for each request: three quarters of its CPU',
    remedy: { change: 'no log', env },
  },
  {
    name: 'log-json',
    flags: ['-c', '20'],
    output: 'file',
    expected: ['logging'],
    partly: busyLoop,
    because: 'a record of some 15 kB to a file for each request: three quarters of its CPU',
    remedy: { change: 'no log', env },
  },
  {
    name: 'sticky',
    flags: ['-c', '20'],
    expected: ['worker-imbalance'],
    partly: busyLoop,
    because:
      'two workers, and all connections are on one: its core is full, the other worker idle, max(U) / mean(U) = 2',
    remedy: { change: 'connections in turn', env },
  },
  {
    name: 'quota',
    service: 'template',
    flags: ['-c', '20'],
    surroundings: { quota: 0.25 },
    expected: ['cpu-quota'],
    because:
      '25 ms of CPU in each 100 ms: a quarter of the throughput of one core, throttled in nearly every period',
    remedy: { change: 'no quota', surroundings: {} },
  },
  {
    name: 'neighbors',
    service: 'json',
    flags: ['-c', '20'],
    surroundings: { neighbors: 3 },
    expected: ['noisy-machine'],
    partly: busyLoop,
    because:
      'three other processes that never sleep on the machine’s cores: the main thread wants to run and waits most of the time',
    remedy: { change: 'no neighbors', surroundings: {} },
  },
  {
    name: 'bursty-neighbors',
    service: 'template',
    flags: ['-c', '20'],
    surroundings: { neighbors: 2, burstMs: 1500 },
    expected: ['noisy-machine'],
    partly: busyLoop,
    because:
      'other processes that take both cores for up to 1.5 s and let go for as long: equal blocks of load differ twofold',
    remedy: { change: 'no neighbors', surroundings: {} },
  },
  {
    name: 'history',
    flags: ['-c', '20'],
    expected: ['degrades-over-time'],
    partly: [...busyLoop, 'memory-growth'],
    because:
      'a request searches what all before it left: D grows in proportion to their number, ten-fold within seconds',
    remedy: { change: 'a list of 100 at most', env },
  },
  {
    name: 'routes',
    flags: ['-c', '20'],
    expected: ['degrades-over-time'],
    partly: [...busyLoop, 'memory-growth'],
    because:
      'four more routes to match after every 20 requests: D grows with the number of requests',
    remedy: { change: 'routes are added once', env },
  },
  {
    name: 'idle-timer',
    flags: ['-c', '20'],
    expected: ['idle-work'],
    partly: busyLoop,
    because:
      'a timer works for 2 of 5 ms without any request: 40 % of a core when idle, and of the throughput when not',
    remedy: { change: 'no timer', env },
  },
  {
    name: 'idle-scan',
    flags: ['-c', '20'],
    expected: ['idle-work'],
    partly: busyLoop,
    because:
      'an interval of undefined ms scans 50 000 sessions every millisecond: CPU of a third of a core and more when idle',
    remedy: { change: 'once a minute', env },
  },
];

// The shape of the load: the server is not at fault.
const knee = (flags) => ({
  change: 'as many connections as explain says',
  connections: 'knee',
  flags,
});

export const shape = [
  {
    name: 'timer',
    flags: ['-c', '20'],
    expected: ['too-few-connections'],
    because:
      '20 / 50 ms = 400/s; the loop is busy for 2 % of the time and could do ten times as many',
    remedy: knee(['-c', '500']),
  },
  {
    name: 'awaits',
    flags: ['-c', '10'],
    expected: ['too-few-connections'],
    because: 'four waits of 10 ms: 10 / 42 ms = 240/s, the loop is busy for less than 10 %',
    remedy: knee(['-c', '100']),
  },
  {
    name: 'fetch',
    flags: ['-c', '8'],
    expected: ['too-few-connections', 'slow-dependency'],
    because:
      '8 / 22 ms = 360/s, the dependency takes 20 ms whatever the load. More connections and a faster dependency both help',
    remedy: { ...knee(['-c', '30']), of: ['too-few-connections'] },
  },
  {
    name: 'aggregate',
    flags: ['-c', '20'],
    expected: ['too-few-connections', 'slow-dependency'],
    because:
      'the slower of two parallel calls counts: 20 / 62 ms = 320/s, the loop is busy for 15 %',
    remedy: { ...knee(['-c', '100']), of: ['too-few-connections'] },
  },
  {
    name: 'generator-native',
    service: 'bare',
    flags: ['-c', '50', '-t', '1'],
    surroundings: { serverCores: '0', clientCores: '1' },
    expected: ['generator-saturated'],
    because:
      'a server that only copies a canned answer costs less CPU for each request than one thread of any client',
  },
  {
    name: 'generator-chunks',
    service: 'chunks',
    flags: ['-c', '50', '-t', '1'],
    surroundings: { serverCores: '0', clientCores: '1' },
    expected: ['generator-saturated'],
    because:
      'the server writes 24 kB that it has ready, the client takes 4000 chunks out of them, some 10 ns each',
  },
  {
    name: 'shared-core',
    service: 'hello',
    flags: ['-c', '20'],
    surroundings: { clientCores: '1', serverCores: '1' },
    expected: ['shared-cores'],
    partly: ['event-loop-cpu', 'noisy-machine'],
    because:
      'both are bound to one core, which is full; a request costs the client a third of what it costs the server',
    remedy: {
      change: 'a core for each',
      surroundings: { clientCores: '1', serverCores: '0' },
    },
  },
  {
    name: 'shared-machine',
    service: 'workers',
    flags: ['-c', '64'],
    expected: ['shared-cores'],
    partly: ['event-loop-cpu'],
    because:
      'a worker for each core and the client beside them: the CPU of all is the whole machine, and each waits for a core',
  },
  {
    name: 'failing',
    flags: ['-c', '20'],
    expected: ['errors'],
    partly: ['too-few-connections'],
    because:
      'every fifth answer is a 503 at once: 20 / (0.8 · 20 ms) = 1250/s of which 1000/s are good, as many as without errors',
    remedy: { change: 'no errors', env: { REMEDY: '1' } },
  },
  {
    name: 'limiter',
    flags: ['-c', '10'],
    expected: ['errors'],
    partly: ['event-loop-cpu', 'single-core'],
    because: '300 good answers in each second, whatever the load; all others are 429',
    remedy: { change: 'no rate limit', env: { REMEDY: '1' } },
  },
  {
    name: 'hello-at-rate',
    service: 'hello',
    flags: ['-R', '200'],
    expected: ['no-limit'],
    because: '200/s of far more than 10 000/s that it could serve; nothing waits and nothing grows',
  },
  {
    name: 'timer-at-rate',
    service: 'timer',
    flags: ['-R', '50'],
    expected: ['no-limit'],
    because: '50/s · 50 ms = 2.5 requests in flight, answered as they come',
  },
];

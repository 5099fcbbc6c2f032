// Connections and TCP.
const env = { REMEDY: '1' };
const busyLoop = ['event-loop-cpu', 'single-core'];

export const connections = [
  {
    name: 'pipe',
    flags: ['-c', '10', '-b', '0123456789'],
    expected: ['nagle-delayed-ack'],
    because:
      'the body waits for the acknowledgement of the head, which is delayed by 40 ms: 10 / 44 ms = 230/s, the loop is idle',
    remedy: { change: 'noDelay', env },
  },
  {
    name: 'two-writes',
    flags: ['-c', '10'],
    expected: ['nagle-delayed-ack'],
    because:
      'the second write waits 40 ms for the acknowledgement of the first: 10 / 44 ms = 230/s, the loop is idle',
    remedy: { change: 'noDelay', env },
  },
  {
    name: 'flushes',
    flags: ['-c', '20'],
    expected: ['many-writes'],
    partly: busyLoop,
    because: '50 writes for a response instead of one: D grows ten-fold and is nearly all in write',
    remedy: { change: 'one write', env },
  },
  {
    name: 'rows',
    flags: ['-c', '20'],
    expected: ['many-writes'],
    partly: busyLoop,
    because:
      '61 writes for a response instead of one: D grows eight-fold and is nearly all in write',
    remedy: { change: 'corked', env },
  },
  {
    name: 'close',
    service: 'hello',
    flags: ['-c', '20', '--connection', 'close'],
    expected: ['connection-churn'],
    partly: [...busyLoop, 'accept-rate'],
    because: 'a connection for each request costs the loop several times what the request does',
    remedy: { change: 'keep-alive', flags: ['-c', '20'] },
  },
  {
    name: 'closing',
    flags: ['-c', '20'],
    expected: ['connection-churn'],
    partly: [...busyLoop, 'accept-rate'],
    because:
      'the server ends the connection with each answer: connects are as many as requests, and cost as much again',
    remedy: { change: 'keep-alive', env },
  },
  {
    name: 'short-backlog',
    flags: ['-c', '50', '--connection', 'close'],
    expected: ['listen-backlog'],
    partly: ['event-loop-blocked', 'connection-churn', 'idle-work'],
    because:
      'two may wait for accept, and the loop is blocked for 100 ms at times: who finds no place tries again after 1 s',
    remedy: { change: 'a backlog of 511', env },
  },
  {
    name: 'slices',
    flags: ['-c', '50', '--connection', 'close'],
    expected: ['accept-rate', 'idle-work'],
    partly: ['connection-churn', 'event-loop-blocked', ...busyLoop],
    because:
      'a turn of the loop takes 4 ms and accepts one connection: below 250/s; connections that stay get a turn’s worth of answers each',
    remedy: { change: 'keep-alive', flags: ['-c', '50'], of: ['accept-rate'] },
  },
  {
    name: 'few-descriptors',
    service: 'timer',
    flags: ['-c', '100'],
    shell: 'ulimit -n 60',
    expected: ['fd-limit'],
    partly: ['errors', 'too-few-connections'],
    because:
      '60 descriptors of which some 20 are taken: about 37 of 100 connections are kept, 37 / 51 ms = 730/s; the others are reset',
    remedy: { change: '200 descriptors', shell: 'ulimit -n 200' },
  },
  {
    name: 'handshakes',
    service: 'tls',
    flags: ['-c', '20', '--tls', 'full', '-k'],
    expected: ['tls-handshake'],
    partly: ['connection-churn', ...busyLoop],
    because:
      'a full handshake with RSA for each request: above 1 ms of CPU, the request itself needs less than a tenth',
    remedy: { change: 'keep-alive', flags: ['-c', '20', '--tls', 'keep-alive', '-k'] },
  },
  {
    name: 'short-keep-alive',
    // Node waits a second longer than it says.
    flags: ['-c', '200', '--think-time', '1100ms'],
    expected: ['keep-alive-race'],
    partly: ['errors', 'connection-churn'],
    because:
      'the server ends what was idle for 1.1 s, the client sends after 1.1 s: some of the requests meet the end and are reset',
    remedy: { change: 'five seconds', env },
  },
  {
    name: 'connect-each',
    flags: ['-c', '10'],
    surroundings: { ports: [40_000, 40_499] },
    expected: ['ephemeral-ports'],
    partly: ['errors'],
    because:
      '500 ports that are each taken for a minute after use: 500 / 60 s = 8 connections/s, all other requests fail with EADDRNOTAVAIL',
    remedy: { change: 'more ports', surroundings: {} },
  },
  {
    name: 'bandwidth',
    service: 'gzip-sync',
    flags: ['-c', '20'],
    surroundings: { rate: '100mbit' },
    expected: ['bandwidth'],
    because: '200 kB over a link of 100 Mbit/s: 12.5 MB/s / 0.2 MB = 62/s, the loop is idle',
    remedy: { change: '300 Mbit/s', surroundings: { rate: '300mbit' } },
  },
];

// Waiting inside the server, and for what it depends on.
const env = { REMEDY: '1' };
const closed = ['-c', '20'];

export const waiting = [
  {
    name: 'passwords',
    flags: ['-c', '8'],
    expected: ['threadpool'],
    because:
      'a hash keeps a thread of the pool busy; four of them are more than the cores: X = cores / CPU of a hash, the loop is idle',
    remedy: { change: 'a quarter of the iterations', env: { ITERATIONS: '10000' } },
  },
  {
    name: 'one-thread',
    service: 'passwords',
    flags: ['-c', '8'],
    env: { UV_THREADPOOL_SIZE: '1' },
    expected: ['threadpool'],
    because: 'a pool of one thread: X = 1 / CPU of a hash, while the loop and a core are idle',
    remedy: { change: 'two threads', env: { UV_THREADPOOL_SIZE: '2' } },
  },
  {
    name: 'login',
    flags: ['-c', '8'],
    expected: ['threadpool'],
    because: 'scrypt on the pool’s threads, X = cores / CPU of a hash, the loop is idle',
    remedy: { change: 'an eighth of the cost', env },
  },
  {
    name: 'archive',
    flags: ['-c', '8'],
    expected: ['threadpool'],
    partly: ['compression'],
    because:
      'deflate on the pool’s threads, X = cores / CPU of an archive; the response is not encoded, so nothing about it can be negotiated',
    remedy: { change: 'the lowest level', env },
  },
  {
    name: 'write-pool',
    flags: closed,
    expected: ['threadpool', 'disk'],
    because:
      'jobs of 40 ms without CPU on 4 threads: 4 / 40 ms = 100/s whatever the connections, loop and cores idle',
    remedy: { change: '16 threads', env: { UV_THREADPOOL_SIZE: '16' } },
  },
  {
    name: 'agent',
    flags: closed,
    expected: ['outbound-pool'],
    because:
      'five sockets / 55 ms = 91/s, the others of 20 wait for one; the dependency takes 50 ms whatever the load',
    remedy: { change: 'maxSockets 20', env },
  },
  {
    name: 'database',
    flags: closed,
    expected: ['outbound-pool'],
    because:
      'five connections / 32 ms = 156/s, the others of 20 wait for one; a query takes 30 ms whatever the load',
    remedy: { change: '30 connections', env },
  },
  {
    name: 'slow-tenth',
    flags: ['-c', '50'],
    expected: ['slow-dependency'],
    partly: ['too-few-connections'],
    because:
      'E[R] = 0.9 · 50 ms + 0.1 · 2 s = 245 ms, 50 / 245 ms = 204/s: most of the requests in flight wait for the slow tenth',
    remedy: { change: 'a deadline of 200 ms', env },
  },
  {
    name: 'slow-fetch',
    flags: ['-c', '50'],
    expected: ['slow-dependency'],
    partly: ['too-few-connections'],
    because:
      'E[R] = 0.95 · 22 ms + 0.05 · 3 s = 171 ms, 50 / 171 ms = 290/s: seven of eight requests in flight wait for the slow ones',
    remedy: { change: 'a deadline of 100 ms', env },
  },
  {
    name: 'two-at-a-time',
    flags: closed,
    expected: ['saturated-dependency'],
    because:
      'the dependency does two at a time: 2 / 22 ms = 91/s, and its time grows with the requests that are sent to it',
    remedy: { change: 'a dependency that does six at a time', env },
  },
  {
    name: 'locked-table',
    flags: closed,
    expected: ['saturated-dependency'],
    because:
      'the database does three at a time: 3 / 27 ms = 111/s over 20 connections, none of which is waited for',
    remedy: { change: 'a database that does nine at a time', env },
  },
  {
    name: 'mutex',
    flags: closed,
    expected: ['serialized'],
    because: 'one at a time for 11 ms: 90/s, R grows with the connections, the loop is idle',
    remedy: { change: 'no mutex', env },
  },
  {
    name: 'queue',
    flags: closed,
    expected: ['serialized'],
    partly: ['outbound-pool', 'slow-dependency'],
    because:
      'one after the other for 19 ms: 52/s; the dependency’s time stays the same, and nothing waits for a socket',
    remedy: { change: 'no queue', env },
  },
  {
    name: 'slow-and-fast',
    flags: ['-c', '2', '-p', '8'],
    paths: ['/slow', ...Array.from({ length: 9 }, () => '/fast')],
    expected: ['head-of-line'],
    partly: ['too-few-connections'],
    because:
      'nearly every eight in a row hold a slow one: 16 / 200 ms = 80/s; beside each other it were 16 / (0.1 · 200 ms) = 800/s',
    remedy: { change: '16 connections with one request each', flags: ['-c', '16'] },
  },
  {
    name: 'few-streams',
    flags: ['--h2c', '-c', '4', '-p', '20'],
    expected: ['max-concurrent-streams'],
    partly: ['too-few-connections'],
    because: '4 connections x 4 streams / 20 ms = 800/s; with 20 streams each 4,000/s',
    remedy: { change: '1,000 streams per connection', env },
  },
  {
    name: 'two-limits',
    flags: ['-c', '10'],
    expected: ['event-loop-cpu', 'too-few-connections', 'slow-dependency', 'single-core'],
    because:
      'the loop: 1 / 2.2 ms = 450/s; the waits: 10 / (22 ms and what queues) = 400/s. Both are within a tenth of each other',
  },
];

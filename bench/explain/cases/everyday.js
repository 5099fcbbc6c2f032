// Ten services of everyday kinds by an author who had not read explain, and one that followed from them.
const env = { REMEDY: '1' };
const closed = ['-c', '20'];

export const everyday = [
  {
    name: 'orders-index',
    service: 'stores/orders-index',
    database: 'postgres',
    flags: closed,
    expected: ['saturated-dependency'],
    partly: ['outbound-pool', 'noisy-machine'],
    because:
      'a query reads 60 000 rows, some 4 ms of CPU of the database: its cores are full, and on a shared machine the service lacks them',
    remedy: { change: 'an index', env, of: [] },
  },
  {
    name: 'orders-socket',
    service: 'stores/orders-index',
    database: 'postgres',
    env: { BY_UNIX_SOCKET: '1' },
    flags: closed,
    expected: ['saturated-dependency'],
    partly: ['outbound-pool'],
    because:
      'the same query through a Unix socket, whose other end cannot be seen: the database’s CPU time follows the requests',
    remedy: { change: 'an index', env, of: [] },
  },
  {
    name: 'report-pool',
    service: 'stores/report-pool',
    database: 'postgres',
    flags: closed,
    expected: ['outbound-pool'],
    because: 'three connections / 16 ms = 190/s, the others of 20 wait for one',
    remedy: { change: '12 connections', env },
  },
  {
    name: 'sale-row',
    service: 'stores/sale-row',
    database: 'postgres',
    flags: closed,
    expected: ['serialized'],
    partly: ['saturated-dependency'],
    because:
      'a row is locked for 4 ms and two round trips: one sale at a time, however many connections there are',
    remedy: { change: 'the price is asked for before the transaction', env },
  },
  {
    name: 'items-loop',
    service: 'stores/items-loop',
    database: 'redis',
    flags: closed,
    expected: ['event-loop-cpu', 'single-core'],
    because: '60 commands a request, each with a turn of the loop: the loop is busy with them',
    remedy: { change: 'one command for all', env, of: [] },
  },
  {
    name: 'session-keys',
    service: 'stores/session-keys',
    database: 'redis',
    flags: closed,
    expected: ['saturated-dependency', 'serialized'],
    because: 'KEYS goes through 40 000 keys, some 6 ms, and Redis runs one command at a time',
    remedy: { change: 'a set of the keys of a user', env, of: [] },
  },
  {
    name: 'event-rows',
    service: 'stores/event-rows',
    database: 'mariadb',
    flags: closed,
    expected: ['event-loop-cpu', 'single-core', 'gc-young'],
    because: 'the driver parses 1000 rows on the loop, of which 20 are shown',
    remedy: { change: '20 rows', env, of: [] },
  },
  {
    name: 'name-lookups',
    flags: closed,
    surroundings: { resolverMs: 60 },
    expected: ['threadpool'],
    because:
      'a look-up takes 62 ms, and libuv gives look-ups two of four threads: 2 / 62 ms = 32/s, while other jobs of the pool do not wait',
    remedy: { change: '16 threads, eight for look-ups', env: { UV_THREADPOOL_SIZE: '16' } },
  },
  {
    name: 'audit-flush',
    flags: closed,
    expected: ['synchronous-writes'],
    partly: ['event-loop-sync-wait'],
    because: 'each request flushes a file and waits for it on the loop: X = 1 / time of a flush',
    remedy: { change: 'one flush for all requests that wait', env },
  },
  {
    name: 'change-bus',
    flags: closed,
    expected: ['degrades-over-time', 'event-loop-cpu'],
    partly: ['memory-growth'],
    because: 'each request adds a listener, and each event calls all of them: the cost grows',
    remedy: { change: 'listeners are removed', env, of: ['degrades-over-time'] },
  },
  {
    name: 'shop-report',
    flags: closed,
    paths: ['/', '/product/7', '/cart', '/report'],
    expected: ['event-loop-cpu', 'single-core'],
    because: 'one of four routes compiles a template for each request, and takes most of the loop',
    remedy: { change: 'compiled once', env },
  },
  {
    name: 'notes-file',
    flags: ['-c', '10'],
    expected: ['synchronous-writes'],
    partly: ['event-loop-cpu', 'event-loop-sync-wait'],
    because:
      'each request writes the whole file, which grows: the cost depends on what was written before, and a restart does not lower it',
    remedy: { change: 'only what is new is appended', env },
  },
];

// Services whose limit is built in, and the place in their code where its time is spent, by an author who had not read explain.
const env = { FIX: '1' };
const closed = ['-c', '20'];

const orders = Array.from({ length: 900 }, (_, id) => ({
  ...{ id, article: `A-${id * 37}`, pieces: id % 9, price: 199 + id, gift: false },
  ...{ street: `Main Street ${id}`, city: 'Springfield' },
}));
const ordersOfDay = JSON.stringify({ partner: 'north', orders });

export const strangers = [
  {
    name: 'tariff-zones',
    typescript: true,
    flags: closed,
    expected: ['event-loop-cpu', 'single-core'],
    because:
      'two parcels a request, each with a scan of 10 000 of 20 000 ranges on average, whose codes are parsed: 0.7 ms of CPU, and 0.03 ms for the rest; X = 1 / 0.73 ms = 1400/s',
    remedy: { change: 'binary search', env, of: [] },
    where: { cpu: { place: 'zones.ts:21-24', share: 0.95 } },
  },
  {
    name: 'seat-lock',
    database: 'postgres',
    flags: [...closed, '-m', 'POST'],
    paths: ['/reservations'],
    expected: ['serialized'],
    partly: ['saturated-dependency'],
    because:
      'the row of the show is locked for 4 ms and three round trips, 5 to 6 ms: X = 1 / 5.5 ms = 180/s, whatever the pool of 32; 19 of 20 requests wait for the lock',
    remedy: { change: 'the row of the seat is locked', env },
    where: { waits: { place: 'lockShow', share: 0.95 } },
  },
  {
    name: 'posts-authors',
    database: 'mariadb',
    flags: ['-c', '8'],
    expected: ['too-few-connections'],
    partly: ['slow-dependency'],
    because:
      '16 queries one after the other, 4 ms away and some 0.5 ms: 8 / 70 ms = 115/s, while the loop, the pool of 40 and the database are idle',
    remedy: { change: 'one query for all authors: 8 / 9 ms', env, of: [] },
    where: { waits: { place: 'findAuthor', share: 15 / 16 } },
  },
  {
    name: 'members-email',
    database: 'postgres',
    flags: closed,
    paths: ['/members'],
    expected: ['saturated-dependency'],
    partly: ['outbound-pool', 'noisy-machine', 'shared-cores'],
    because:
      'the index is of the address, not of its lower case: a query goes through 60 000 rows, 29 ms of CPU, and on two cores there is nothing left: 2 / 30 ms = 65/s',
    remedy: { change: 'an index of the lower case', env, of: [] },
    where: { waits: { place: 'findByEmail', share: 0.98 } },
  },
  {
    name: 'stock-recount',
    database: 'redis',
    flags: closed,
    paths: ['/stock'],
    expected: ['saturated-dependency', 'serialized'],
    because:
      'the script adds 12 000 fields up, 5.5 ms of CPU, and Redis runs one at a time: X = 1 / 5.5 ms = 180/s with its core full and the loop idle',
    remedy: { change: 'the total is kept', env, of: [] },
    where: { waits: { place: 'countStock', share: 0.97 } },
  },
  {
    name: 'jobs-blpop',
    database: 'redis',
    flags: closed,
    expected: ['too-few-connections'],
    partly: ['slow-dependency', 'outbound-pool'],
    because:
      'all that is sent waits until BLPOP on the same connection has waited its 50 ms, which Redis makes 100 ms, then all is answered at once: X = 20 / 100 ms = 200/s, and twice that with 40 connections',
    remedy: { change: 'jobs have a connection of their own', env, of: [] },
    where: { waits: { place: 'readProfile', share: 0.98 } },
  },
  {
    name: 'checkout-hold',
    database: 'mariadb',
    flags: ['-c', '24', '-m', 'POST'],
    paths: ['/checkout'],
    expected: ['outbound-pool'],
    partly: ['serialized'],
    because:
      'each order holds one of six connections while the provider takes 30 ms: X = 6 / 32 to 34 ms = 180/s, and 18 of 24 requests wait for a connection; MariaDB is idle',
    remedy: { change: 'paid before the connection is taken: 24 / 33 ms = 720/s', env },
    where: {
      waits: [
        { place: 'takeConnection', share: 18 / 24 },
        { place: 'pay', share: 0.23 },
      ],
    },
  },
  {
    name: 'devices-pool',
    flags: ['-c', '24'],
    paths: ['/devices/7'],
    expected: ['outbound-pool'],
    because: 'three connections to MongoDB / 10.5 to 11 ms = 280/s; 21 of 24 requests wait for one',
    remedy: { change: '40 connections', env },
    where: { waits: { place: 'findDevice', share: 0.98 } },
  },
  {
    name: 'rates-mutex',
    flags: closed,
    expected: ['serialized'],
    partly: ['slow-dependency'],
    because:
      'one mutex around all rates while one comes from the provider, 8.5 to 9 ms: X = 1 / 8.8 ms = 115/s, 19 of 20 requests wait for the mutex; a rate is too old before it is asked for again',
    remedy: { change: 'a mutex for each pair: 20 / 9 ms', env },
    where: {
      waits: [
        { place: 'enter', share: 19 / 20 },
        { place: 'askProvider', share: 1 / 20 },
      ],
    },
  },
  {
    name: 'geocode-limit',
    flags: ['-c', '24'],
    expected: ['serialized'],
    partly: ['outbound-pool'],
    because:
      'p-limit admits three calls of 26 ms at a time: X = 3 / 26 ms = 115/s, 21 of 24 requests wait in its queue',
    remedy: { change: '60 at a time: 24 / 27 ms', env },
    where: {
      waits: [
        { place: 'locate', share: 0.98 },
        { place: 'askApi', share: 3 / 24 },
      ],
    },
  },
  {
    name: 'sessions-map',
    flags: ['-R', '400', '-c', '20'],
    expected: ['memory-growth'],
    because:
      'each request leaves a session of 60 places in a Map, 3.4 kB or more (60 x (48 + 8) bytes): 400/s are 1.4 MB/s for ever; the rate itself is served, a request takes 10 ms and 0.2 ms of CPU',
    remedy: { change: 'the oldest sessions are forgotten', env, of: [] },
    where: { growth: { place: 'startSession', retainer: 'sessions' } },
  },
  {
    name: 'bulk-orders',
    flags: [...closed, '-m', 'POST', '-b', ordersOfDay],
    paths: ['/orders'],
    expected: ['event-loop-cpu', 'single-core'],
    partly: ['gc-young'],
    because: `JSON.parse of ${Math.round(ordersOfDay.length / 1000)} kB takes 0.7 ms of CPU, to read them 0.1 ms: X = 1 / 0.85 ms = 1200/s`,
    remedy: { change: 'the head comes in headers', env, of: [] },
    where: { cpu: { place: 'parseOrders', share: 0.85 } },
  },
  {
    name: 'basic-auth',
    flags: [
      ...closed,
      '-H',
      `authorization: Basic ${Buffer.from('ci:correct horse').toString('base64')}`,
    ],
    expected: ['event-loop-cpu', 'event-loop-blocked', 'single-core'],
    because:
      'bcrypt of cost 7 in JavaScript, 2^7 rounds or 12 to 15 ms on the loop, for each request: X = 1 / 15 ms = 65/s',
    remedy: { change: 'a password is compared once', env, of: [] },
    where: { cpu: { place: 'checkPassword', share: 0.99 } },
  },
  {
    name: 'price-format',
    flags: closed,
    paths: ['/prices'],
    expected: ['event-loop-cpu', 'single-core'],
    partly: ['gc-young', 'gc-old'],
    because:
      '60 formatters of Intl a request, some 50 µs each, and 0.1 ms for the rest: X = 1 / 3.4 ms = 290/s',
    remedy: { change: 'a formatter for each locale', env, of: [] },
    // ICU makes a formatter when it is first used, which is after createFormat.
    where: { cpu: { place: 'formatPrice', share: 0.95 } },
  },
  {
    name: 'photo-folder',
    flags: closed,
    paths: ['/album'],
    expected: ['event-loop-cpu', 'single-core'],
    partly: ['event-loop-sync-wait'],
    because:
      '400 synchronous stats a request, 5 µs each, on files that the system has in memory, and 0.27 ms for the rest: X = 1 / 2.2 ms = 450/s',
    remedy: { change: 'the folder is read once', env, of: [] },
    where: { cpu: { place: 'listPhotos', share: 0.88 } },
  },
  {
    name: 'chatty-log',
    output: 'file',
    flags: closed,
    paths: ['/orders/7'],
    expected: ['logging', 'event-loop-cpu', 'single-core'],
    because:
      'eight objects are formatted and written for each request, some 40 µs each, beside 120 µs for the answer: X = 1 / 0.45 ms = 2200/s',
    remedy: { change: 'no log', env, of: ['logging'] },
    where: { cpu: { place: 'logRequest', share: 0.73 } },
  },
  {
    name: 'client-each',
    database: 'postgres',
    flags: closed,
    expected: ['connection-churn', 'saturated-dependency'],
    partly: ['noisy-machine', 'shared-cores', 'slow-dependency'],
    because:
      'PostgreSQL starts a process for each connection, 5 ms of CPU, for a query of 0.1 ms; the service takes 1 ms: X = 2 cores / 6 ms = 330/s at most, of which the load needs some',
    remedy: { change: 'a pool', env, of: [] },
    where: { waits: { place: 'openClient', share: 0.85 } },
  },
  {
    name: 'snapshot-job',
    flags: closed,
    expected: ['idle-work', 'event-loop-blocked', 'event-loop-cpu'],
    because:
      'a job computes 90 ms, then pauses 60 ms, in which requests are served: the loop has 40 % of its time for them, X = 0.4 / CPU time per request',
    remedy: { change: 'the job pauses 10 s: 1 / 0.4 = 2.5 times as many', env, of: ['idle-work'] },
    where: { cpu: { place: 'buildIndex', share: 0.6 } },
  },
  {
    name: 'settings-clone',
    flags: closed,
    paths: ['/feature'],
    expected: ['event-loop-cpu', 'gc-young', 'single-core'],
    because:
      'a package copies 400 features, 1200 objects, for each request: 1.5 ms of CPU, beside 0.16 ms for the answer: X = 1 / 1.7 ms = 590/s',
    remedy: { change: 'merged once', env, of: [] },
    where: {
      cpu: { place: 'settingsOf', share: 0.9 },
      allocations: { place: 'settingsOf', share: 0.95 },
    },
  },
  {
    name: 'badge-worker',
    flags: closed,
    expected: ['serialized', 'single-core'],
    partly: ['shared-cores'],
    because:
      'one worker draws 256 000 pixels a badge, 10 ms of CPU: X = 1 / 10 ms = 100/s, with the main loop idle; 19 of 20 requests wait for it',
    remedy: { change: 'two workers; on two cores less than twice', env, of: ['single-core'] },
    where: { waits: { place: 'drawBadge', share: 0.97 } },
  },
  {
    name: 'drain-ticks',
    flags: closed,
    expected: ['event-loop-cpu', 'event-loop-blocked', 'single-core'],
    partly: ['gc-young'],
    because:
      '4000 steps of one order follow each other by process.nextTick, and nothing else runs for 3 ms: X = 1 / 3 ms = 330/s',
    remedy: { change: '40 steps', env, of: [] },
    where: { cpu: { place: 'drain', share: 0.95 } },
  },
];

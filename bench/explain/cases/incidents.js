// Ten services as teams run them, after reports of incidents, by an author who had not read explain: eight with one limit
// and two without. Times are of single requests on a busy machine; "20 at once" is one round of 20 parallel requests.
const env = { REMEDY: '1' };
const closed = ['-c', '20'];

export const incidents = [
  {
    name: 'cart-lock',
    service: 'incidents/cart-lock',
    database: 'redis',
    flags: closed,
    expected: ['serialized'],
    partly: ['slow-dependency'],
    because:
      'one lock in Redis for all products, held for 18 ms of the payment provider and four round trips: a request alone takes 21.8 ms, 20 at once end one by one, 24 ms apart (480 to 520 ms in all). X = 1 / (20.5 ms held + 1 to 3 ms until one of the waiting asks again, each every 20 to 30 ms) = 42 to 47/s, however many connections there are. The loop and Redis are idle; a connection that has just been served may get the lock again, so that the 99th percentile is far from the median',
    remedy: { change: 'a lock per product: 20 at once end within 38 ms', env, of: ['serialized'] },
  },
  {
    name: 'transfer-audit',
    service: 'incidents/transfer-audit',
    database: 'postgres',
    flags: closed,
    expected: ['outbound-pool'],
    partly: ['serialized', 'slow-dependency'],
    because:
      'each transfer holds one of five clients of the pool and asks the pool for a second: with more than five requests at once all clients are held by those that wait, until they give up after 100 ms. X = 5 / 103 ms = 48/s and a latency of 4 x 103 ms = 412 ms at 20 connections, though a request alone takes 3.5 ms, and PostgreSQL, the loop and the cores are idle. 20 at once end in four groups of five: 121, 224, 328, 432 ms. The wait is a deadlock, not the time of the queries: the remedy gives much more than 24 / 5, and "20 / 103 ms" would be far too low',
    remedy: {
      change: '24 clients, more than there are requests at once',
      env,
      of: ['outbound-pool'],
    },
  },
  {
    name: 'catalog-blob',
    service: 'incidents/catalog-blob',
    database: 'redis',
    flags: closed,
    expected: ['event-loop-cpu', 'single-core'],
    partly: ['gc-young', 'event-loop-blocked'],
    because:
      'each request gets a value of 976 kB from Redis (some 1 ms of reading and 0.1 to 0.7 ms to make it a string) and parses it on the loop: 3.3 to 4.4 ms of JSON.parse (a request alone: 8 to 14 ms at idle priority, 13 ms apart when 8 come at once). X = 1 / 5 to 7 ms of CPU = 140 to 200/s. Redis only copies; its answers seem slow as the loop is too busy to read them',
    remedy: { change: 'a hash with a field per product', env, of: [] },
  },
  {
    name: 'warehouse-link',
    service: 'incidents/warehouse-link',
    database: 'mariadb',
    flags: closed,
    expected: ['outbound-pool', 'serialized'],
    partly: ['slow-dependency'],
    because:
      'one connection to MariaDB for the whole process; the driver queues the queries, each of which waits 20 ms in a function (without CPU): a request alone takes 23 ms, 20 at once end 22 ms apart, the last after 468 ms. X = 1 / 20.5 to 22 ms = 45 to 49/s. MariaDB is not saturated: it waits, and would answer more connections as fast',
    remedy: {
      change:
        'a pool of 24 connections: 20 at once end within 85 ms, of which most is opening them',
      env,
      of: ['outbound-pool', 'serialized'],
    },
  },
  {
    name: 'thumbnails',
    service: 'incidents/thumbnails',
    flags: closed,
    expected: ['serialized', 'single-core'],
    partly: ['event-loop-cpu', 'shared-cores'],
    because:
      'all pictures are scaled by one worker thread, 5.4 to 6.6 ms of CPU each: X = 1 / 6 ms = 150 to 180/s with one core full, while the main loop is nearly idle (a verdict that says the main loop is busy is wrong). A request alone takes 7 to 11 ms, 10 at once end 10 ms apart at idle priority',
    remedy: {
      change:
        'a worker per core: 6 ms apart instead of 10; on two cores less than twice, as the load needs some of them',
      env,
      of: ['single-core'],
    },
  },
  {
    name: 'flags-primary',
    service: 'incidents/flags-primary',
    flags: closed,
    expected: ['single-core', 'event-loop-cpu', 'serialized'],
    partly: ['saturated-dependency', 'shared-cores'],
    because:
      'both workers of the cluster ask the primary for each request, which takes 6.3 ms of CPU on its only thread: X = 1 / 6.5 ms = 150/s. The workers are idle (1 ms a request between two), and more of them change nothing. A request alone takes 9 to 14 ms',
    remedy: {
      change:
        'the workers evaluate the rules themselves: two cores instead of one, of which the load needs some',
      env,
      of: ['single-core'],
    },
  },
  {
    name: 'virus-scan',
    service: 'incidents/virus-scan',
    flags: closed,
    expected: ['serialized'],
    partly: ['outbound-pool', 'slow-dependency'],
    because:
      'at most two scanners (child processes) at a time, each of which waits 120 ms without CPU: X = 2 / 133 ms = 15/s. A request alone takes 128 to 138 ms, eight at once end in pairs: 150, 290, 429, 566 ms. A scanner costs some 3 to 8 ms of CPU of the machine, so the cores are idle',
    remedy: {
      change: 'up to 40 scanners, i.e. 20 at 20 connections: 8 at once end within 161 ms',
      env,
      of: ['serialized'],
    },
  },
  {
    name: 'fair-download',
    service: 'incidents/fair-download',
    flags: ['-c', '10'],
    expected: ['too-few-connections'],
    partly: ['slow-dependency'],
    because:
      'each response of 64 kB is slowed down by timers of the stream, four pieces and 10 ms after each: 41 to 43 ms, of which 0.5 ms are CPU. X = 10 connections / 42 ms = 238/s, and twice that with twice the connections: nothing is used up. The 40 ms are no delayed acknowledgement, and no bandwidth of the network (16 MB/s on the loopback)',
    remedy: {
      change: 'not slowed down (the remedy of the verdict is more connections; this is another)',
      env,
      of: [],
    },
  },
  {
    name: 'invoice-pages',
    service: 'incidents/invoice-pages',
    flags: ['-R', '90', '-c', '20'],
    expected: ['no-limit'],
    because:
      'a page takes 4.4 to 4.9 ms of CPU when warm, and some 0.5 ms to send its 164 kB: 90/s x 5.2 ms = 47 % of the loop, which could do 190/s. A request alone takes 6 to 9 ms; the rate is kept',
  },
  {
    name: 'visits',
    service: 'incidents/visits',
    database: 'postgres',
    flags: ['-R', '250', '-c', '20'],
    expected: ['no-limit'],
    because:
      'a request takes 1.5 to 2.4 ms at idle priority, of which some 0.5 ms is the query: 250/s x 0.5 to 1 ms = 0.1 to 0.25 of three clients, and some 10 to 20 % of the loop. Twice a second an update of up to 125 rows takes one of the clients for some ms. The rate is kept',
  },
];

// Services that were written without any look at how explain works, with the limits that were built into them.
const env = { FIX: '1' };
const closed = ['-c', '20'];

export const blind = [
  {
    name: 'brotli-feed',
    flags: [...closed, '-H', 'accept-encoding: br'],
    paths: ['/feed'],
    expected: ['compression', 'threadpool'],
    because:
      'brotli at its highest quality takes some 35 ms of CPU on a thread of the pool for 25 kB: both cores are full of that, the loop is idle',
    remedy: { change: 'quality 4', env },
  },
  {
    name: 'catalog-agent',
    flags: ['-c', '32'],
    paths: ['/product/17'],
    expected: ['outbound-pool'],
    because:
      'four connections / 11 ms = 360/s, the others of 32 wait for one; the dependency has no limit of its own',
    remedy: { change: '16 connections', env: { CONNECTIONS: '16' } },
  },
  {
    name: 'debug-inspect',
    flags: closed,
    paths: ['/tickets/1'],
    expected: ['logging', 'event-loop-cpu'],
    because:
      'two records for the log are formatted for each request, before the level says that they are not written: three quarters of the loop’s time',
    remedy: { change: 'the level is asked first', env },
  },
  {
    name: 'flags-sync',
    flags: closed,
    expected: ['event-loop-sync-wait', 'event-loop-blocked'],
    because:
      'the main thread sleeps until a worker has the answer of another service: 1 / 5.6 ms = 178/s, CPU a quarter of a core',
    remedy: { change: 'the answer is kept for 5 s', promise: 'its result is kept', env },
  },
  {
    name: 'gateway-pipe',
    flags: ['-c', '2', '-p', '16'],
    paths: ['/rate'],
    expected: ['head-of-line'],
    because:
      'every twelfth answer takes 40 ms, and nearly all 16 in a row on a connection wait for one: 2 · 16 / 40 ms = 800/s; beside each other they take 4 ms on average',
    remedy: { change: 'no pipelining', flags: ['-c', '32'] },
  },
  {
    name: 'idempotency',
    flags: [...closed, '-m', 'POST', '-b', '{"type":"paid"}'],
    paths: ['/events'],
    expected: ['degrades-over-time', 'event-loop-cpu', 'memory-growth'],
    because:
      'a request adds to a list that each later one searches from its beginning: D grows with the number of requests before',
    remedy: { change: 'a Map', env },
  },
  {
    name: 'kv-client',
    flags: closed,
    paths: ['/prefs/9'],
    expected: ['nagle-delayed-ack'],
    because:
      'a call of the dependency is two writes, of which the second waits 40 ms for the acknowledgement of the first: 20 / 44 ms = 450/s, the loop is idle',
    remedy: { change: 'noDelay', env },
  },
  {
    name: 'leaderboard',
    flags: closed,
    paths: ['/top'],
    expected: ['idle-work', 'event-loop-blocked'],
    because:
      'a timer sorts 20 000 players in some 90 ms, then pauses for 40 ms, with or without requests: two thirds of the loop',
    remedy: { change: 'every 30 s', env },
  },
  {
    name: 'payments-tls',
    flags: closed,
    paths: ['/checkout'],
    expected: ['tls-handshake', 'connection-churn'],
    because:
      'an agent for each request, so a connection and a full handshake with the dependency for each: nearly all of the loop’s time',
    remedy: { change: 'one agent', env },
  },
  {
    name: 'quote-backend',
    flags: ['-c', '32'],
    paths: ['/quote'],
    expected: ['saturated-dependency'],
    because:
      'the dependency does three at a time: 3 / 9 ms = 330/s over 100 connections, none of which is waited for',
    remedy: { change: 'a dependency that does 24 at a time', env },
  },
  {
    name: 'session-store',
    flags: closed,
    paths: ['/account'],
    expected: ['serialized'],
    because:
      'one lock for all over two calls of 4 ms: 1 / 8.1 ms = 123/s, R grows with the connections, loop and dependency are idle',
    remedy: { change: 'a lock for each user', env },
  },
  {
    name: 'ssr-fragments',
    flags: closed,
    paths: ['/results'],
    expected: ['many-writes'],
    because:
      '102 writes for an answer, one for each 50 bytes: rendered the same way but written once it takes a tenth of the CPU',
    remedy: { change: 'one write', env },
  },
  {
    name: 'steady',
    flags: [...closed, '-R', '500'],
    paths: ['/validate/DE/10115'],
    expected: ['no-limit'],
    because:
      '500/s of the 6000/s that 20 connections allow at 3.2 ms each; the process takes a seventh of a core',
  },
  {
    name: 'sticky-chat',
    flags: closed,
    paths: ['/room/7'],
    expected: ['worker-imbalance'],
    because:
      'a connection’s worker is chosen by the client’s address, which all share: one of two workers has a full core, the other nothing',
    remedy: { change: 'chosen by the port as well', env },
  },
  {
    name: 'tile-render',
    flags: closed,
    paths: ['/tile'],
    expected: ['gc-old', 'gc-young'],
    because:
      'a buffer of 4 MB for each request keeps marking going on, through an old heap of 250 MB: three quarters of the CPU is collection of garbage, and the handler a fiftieth',
    remedy: { change: 'one buffer, used again', env },
  },
  {
    name: 'user-loader',
    flags: closed,
    paths: ['/users'],
    expected: ['too-few-connections'],
    because:
      'a lookup waits 25 ms for others to be asked for with it: 20 / 28.7 ms = 695/s, twice that with twice the connections; the dependency answers at once',
    remedy: { change: 'as many connections as explain says', connections: 'knee' },
  },
  {
    name: 'catalog-search',
    flags: ['-c', '16'],
    paths: [
      ...['/items/1', '/items/2', '/top', '/items/77', '/healthz'],
      '/search?q=evergreen%20garden%20lamps%20on%20sale%21',
    ],
    expected: ['event-loop-blocked', 'event-loop-cpu'],
    because:
      'a sixth of the requests match a pattern for some 27 ms each, and all others wait for it: 6 / 27 ms = 220/s',
    remedy: { change: 'a pattern that does not go back', env },
  },
  {
    name: 'checkout-winston',
    flags: closed,
    paths: ['/cart/1'],
    expected: ['logging'],
    because:
      'eleven lines for each request, formatted by winston for a file: some 70 % of a main thread that is full',
    remedy: { change: 'warnings only, asked before formatting', env },
  },
  {
    name: 'feed-gzip',
    flags: [...closed, '-H', 'Accept-Encoding: gzip'],
    paths: ['/feed'],
    expected: ['compression'],
    because:
      'gzip at level 9 takes some 1.8 ms of the main thread for each request, as a time in the body makes each miss the cache',
    // The cache of this remedy hashes each body, which is another change than the predicted one.
    remedy: { change: 'no time in the body', env, of: [] },
  },
  {
    name: 'geo-enrich',
    flags: closed,
    paths: ['/visit/home'],
    expected: ['slow-dependency'],
    because:
      'one of 37 answers of the dependency takes 2 s, the others 4 ms: E[R] = 58 ms, 20 / 58 ms = 345/s, without a deadline or a queue',
    remedy: { change: 'a deadline of 50 ms', env },
  },
  {
    name: 'idempotent-orders',
    flags: [
      ...['-c', '10', '-m', 'POST', '-H', 'Content-Type: application/json'],
      ...['-b', '{"customer":"c1"}'],
    ],
    paths: ['/orders'],
    expected: ['memory-growth', 'gc-old', 'errors'],
    because:
      'orders of 12 kB are kept under keys that never come again: 180 MB are full after 14 000, marking takes nearly all time then, and the worker dies of it',
    remedy: { change: 'such orders are not kept', env },
  },
  {
    name: 'invoice-koa',
    flags: ['-c', '32'],
    paths: ['/invoice/1007'],
    expected: ['event-loop-cpu', 'single-core'],
    because:
      'a formatter of Intl is built for each of 25 cells, some 1.8 ms of CPU for a request, X = 1/D; the 3 ms of the store do not matter',
    remedy: { change: 'two formatters, kept', env },
  },
  {
    name: 'orderbook',
    flags: ['-c', '64'],
    paths: ['/book/ABC'],
    expected: ['gc-young'],
    because:
      'more than half of the loop’s time is scavenges, which copy the 3000 objects of each of the 64 requests that wait for 8 ms',
    remedy: { change: 'objects are made after the wait', promise: 'outlive the request', env },
  },
  {
    name: 'partner-tls',
    flags: [...closed, '--connection', 'close', '--tls', 'full', '-k'],
    paths: ['/shipments/7'],
    expected: ['tls-handshake', 'connection-churn'],
    because:
      'a full handshake with RSA of 4096 bits for each request: some 6 ms of CPU, 1 / 6 ms = 160/s; the handler needs a fraction of that',
    remedy: { change: 'a key on P-256', promise: 'P-256', env },
  },
  {
    name: 'pricing-legacy',
    flags: ['-c', '25'],
    paths: ['/quote/vip1/A7'],
    expected: ['event-loop-sync-wait', 'event-loop-blocked'],
    because:
      'the main thread sleeps until a worker has the answer of another service: 1 / 5.5 ms = 180/s, CPU a quarter of a core',
    remedy: { change: 'an asynchronous wait', env },
  },
  {
    name: 'profile-pool',
    flags: ['-c', '50'],
    paths: ['/users/7'],
    expected: ['outbound-pool'],
    because:
      'eight connections to the database, each held for its statement of 2 ms and another service’s 25 ms: 8 / 27 ms = 296/s, and neither of the two is busy',
    remedy: { change: 'the connection is given back before the other call', env },
  },
  {
    name: 'public-api-limit',
    flags: closed,
    paths: ['/rates/EUR'],
    expected: ['errors'],
    because:
      'the rate limit counts before it is known who asks, so all share 200/s: nearly all answers are 429',
    remedy: { change: 'no rate limit to speak of', env },
  },
  {
    name: 'sensor-bridge',
    flags: ['-c', '32'],
    paths: ['/reading'],
    expected: ['threadpool'],
    because:
      'a read of a named pipe keeps one of 4 threads for up to 40 ms, without CPU: far less than the 40 pipes could give, loop and cores idle',
    remedy: { change: '48 threads', env },
  },
  {
    name: 'session-sweep',
    flags: closed,
    paths: ['/me'],
    expected: ['idle-work', 'event-loop-blocked'],
    because:
      'a timer scans 200 000 sessions every 80 ms for some 45 ms, with or without requests: more than half of the loop',
    remedy: { change: 'once a minute', env },
  },
  {
    name: 'status-drain',
    flags: ['-c', '30'],
    paths: ['/status'],
    expected: ['connection-churn', 'accept-rate'],
    because:
      'the server ends the connection with each answer: connects are as many as requests, and the handler does nothing',
    remedy: { change: 'keep-alive', env },
  },
  {
    name: 'stock-rate',
    flags: ['-c', '40', '-R', '400'],
    paths: ['/stock/7'],
    expected: ['no-limit'],
    because:
      '400/s · 30 ms = 12 requests in flight of 40, answered as they come; the process takes a quarter of a core',
  },
  {
    name: 'wallet-lock',
    flags: [
      ...['-c', '24', '-m', 'POST', '-H', 'Content-Type: application/json'],
      ...['-b', '{"cents":"100"}'],
    ],
    paths: Array.from({ length: 12 }, (_, index) => `/wallets/${index + 1}/deposit`),
    expected: ['serialized'],
    because:
      'the locks of twelve wallets have the same key, so they are one, held for two calls of 2.5 ms: 1 / 5 ms = 200/s, CPU a seventh of a core',
    remedy: { change: 'a key for each wallet', env },
  },
  {
    name: 'webhook-dedupe',
    flags: ['-c', '10', '-m', 'POST', '-b', '{"type":"paid"}'],
    paths: ['/hooks/payment'],
    expected: ['degrades-over-time', 'event-loop-cpu'],
    because:
      'a delivery filters and searches the list of all those before it: D grows with their number',
    remedy: { change: 'a Set', env },
  },
  // Written when the cases above had been looked at, and run once before anything was changed for them.
  {
    name: 'control-fifo',
    flags: closed,
    paths: ['/login?user=user7'],
    expected: ['threadpool'],
    because:
      'three named pipes that nobody writes keep three of the four threads of the pool in open for ever; the fourth does scrypt: 1 / 8.4 ms = 118/s, on one core, the loop is idle',
    remedy: { change: 'the pipes are sockets that do not block', env },
  },
  {
    name: 'geo-sdk',
    flags: closed,
    paths: ['/where'],
    expected: ['outbound-pool'],
    because:
      'the vendor’s SDK has an agent of its own with three connections: 3 / 21 ms = 140/s; the dependency has no limit of its own',
    remedy: { change: '12 connections', env: { CONNECTIONS: '12' } },
  },
  {
    name: 'jwt-api',
    flags: closed,
    paths: ['/me'],
    expected: ['event-loop-cpu'],
    because:
      'a secret that is a string is first parsed as a public key, which throws, for each token: 435 µs instead of 14, so the loop is full at 1500/s',
    remedy: { change: 'a KeyObject, made once', env },
  },
  {
    name: 'price-alerts',
    flags: closed,
    paths: ['/trade/S5'],
    expected: ['degrades-over-time', 'memory-growth', 'event-loop-cpu'],
    because:
      'a request adds a listener that only one of 200 takes away, and calls all of those before: D grows with their number',
    remedy: { change: 'each takes its listener away', env },
  },
  {
    name: 'rpc-scorer',
    flags: closed,
    paths: ['/checkout'],
    expected: ['nagle-delayed-ack'],
    because:
      'a call of the dependency is two writes, of which the second waits 40 ms for the acknowledgement of the first: 20 / 44 ms = 450/s, CPU a sixth of a core',
    remedy: { change: 'noDelay', env },
  },
  {
    name: 'secrets-sync',
    flags: closed,
    paths: ['/invoice/acme'],
    expected: ['event-loop-sync-wait', 'event-loop-blocked'],
    because:
      'the main thread sleeps until a worker has the answer of another service, 7 ms and more: 107/s, CPU less than a fifth of a core',
    remedy: { change: 'the answer is kept for 30 s', promise: 'its result is kept', env },
  },
  {
    name: 'ssr-catalog',
    flags: [...closed, '-R', '40'],
    paths: ['/catalog'],
    expected: ['no-limit'],
    because:
      '40/s of the 190/s that a loop can render at 5 ms each; the process takes a quarter of a core, and the inventory is asked once in 30 s',
  },
  {
    name: 'sticky-cluster',
    flags: closed,
    paths: ['/report'],
    expected: ['worker-imbalance', 'single-core'],
    because:
      'a connection’s worker is chosen by the client’s address, which all share: one of two workers has a full core, the other nothing',
    remedy: { change: 'the workers take turns', env },
  },
  {
    name: 'tidy-memory',
    flags: closed,
    paths: ['/postcode/12345'],
    expected: ['gc-old', 'event-loop-blocked'],
    because:
      'after each 64 answers the service collects all garbage itself, 44 ms of every 57 for an old heap of 69 MB, of which hardly any is garbage',
    remedy: { change: 'no collections of its own', env },
  },
  {
    name: 'tls-drain',
    flags: [...closed, '--tls', 'keep-alive', '-k'],
    paths: ['/orders'],
    expected: ['tls-handshake', 'connection-churn'],
    because:
      'the server ends the connection with each answer, so each request takes a full handshake with RSA of 4096 bits: 1 / 6 ms = 160/s of a full core',
    remedy: { change: 'connections stay open', env },
  },
  {
    name: 'traffic-shaper',
    flags: closed,
    paths: ['/users/7'],
    expected: ['serialized'],
    because:
      'requests are held until a bucket has a token for them, 160/s with any number of connections: R is 20 / 160 = 125 ms, the store needs 4, CPU a ninth of a core',
    remedy: { change: '20 000 tokens per second', env },
  },
  {
    name: 'ws-dashboard',
    flags: closed,
    paths: ['/orders/17'],
    expected: ['idle-work', 'event-loop-cpu', 'event-loop-blocked'],
    because:
      'a timer sorts the order book for each of 18 displays, 15 of every 20 ms, with or without requests: three quarters of the loop',
    remedy: { change: 'sorted once for all', env },
  },
].map((one) => ({ service: `blind/${one.name}/server`, ...one }));

// The cases of the suite `stack`: the same application with and without Millrace. As in ../load/cases.js, but
//   tools            the rows: names of runtimes.js; `loads` may name the tool of a row and another `app`
//   load.app         the application: a file of apps/
//   shareOfCapacity  an open load at this share of the baseline's capacity
//   load.args        the arguments of the application
//   barsOn           requirements on one major version of Node.js, in place of `bars`
//   packages         the packages of the application whose versions are told
//   quiet            share of a core that other processes may use, if it must be less than in other cases
//   vary             of an idle case: the numbers of connections at which memory is read
//   flood            the number of requests, and the time limit for them
//   distinct         the number of different responses, and their size in bytes
//   load.paths       the requested paths; if processes share a port, each has one of these URL prefixes
//   load.alternating the requests of a connection use the paths in turn; without it, a connection uses one path

import { http2 } from './http2-cases.js';

const serving = { kind: 'serving', tools: ['node', 'millrace', 'bun'], baseline: 'node' };
/** The row of nginx, which answers from its configuration (`return 200`) without an application: a server in C for comparison. */
const withNginx = { ...serving, tools: [...serving.tools, 'nginx'] };
const times = (atLeast) => [{ than: 'node', atLeast }];
/** The same per second of the server's CPU: where a connection is opened for each request, the client is often the limit. */
const perCpu = (atLeast, than = 'node') => ({ than, metric: 'requestsPerCpuSecond', atLeast });

const frameworks = [
  ['express', 'Express 5', 1.3, 1.9],
  ['fastify', 'Fastify 5', 1.6, 1.8],
  ['koa', 'Koa 3', 1.4, 1.7],
].map(([name, title, factor, on26]) => ({
  ...serving,
  name,
  question: `A hello world on ${title}?`,
  load: { app: `hello-${name}`, connections: 50 },
  bars: times(factor),
  barsOn: { 26: times(on26) },
  packages: [name],
}));

const mounted = {
  ...serving,
  name: 'express-mounted',
  question: 'A hello world on Express 5, in an application that is mounted in another?',
  load: { app: 'mounted-express', connections: 50 },
  bars: times(1.3),
  packages: ['express'],
};

const tls = [
  ['keep-alive', 'Requests/s over TLS on 50 connections that stay?', 2.5, times(2.1)],
  ['resume', 'A TLS connection with a resumed handshake for each request?', 5, [perCpu(2.2)]],
  [
    'full',
    'A TLS connection with a full handshake for each request (ECDSA P-256)?',
    1.2,
    [perCpu(2.1)],
  ],
].map(([mode, question, factor, on26]) => ({
  ...withNginx,
  name: `tls-${mode}`,
  question,
  load: { app: 'hello-tls', connections: 50, tls: mode },
  bars: times(factor),
  barsOn: { 26: on26 },
  columns: mode === 'keep-alive' ? [] : ['resumed'],
}));

/** Responses of several sizes, from a buffer and from a file. Few connections: more bytes in flight do not fit into the cache. */
const downloads = [
  ['64-kib', '64 KiB', 2 ** 16, 50, 1.2],
  ['1-mib', '1 MiB', 2 ** 20, 10, 1.1],
  ['16-mib', '16 MiB', 2 ** 24, 4, 1.1],
].flatMap(([name, size, bytes, connections, factor]) => [
  {
    ...serving,
    name: `download-${name}`,
    question: `Responses of ${size}, from a buffer?`,
    load: { app: 'download', args: [bytes], connections },
    bars: times(factor),
  },
  {
    ...serving,
    name: `download-${name}-file`,
    question: `Responses of ${size}, by createReadStream().pipe(response)?`,
    load: { app: 'download-file', args: [bytes], connections },
    bars: times(factor === 1.2 ? 1 : factor),
  },
]);

/** The output cache, and peers that answer without an application. */
const cached = {
  ...serving,
  tools: ['node', 'millrace', 'cached', 'nginx', 'proxy_cache', 'varnish'],
};
const cachedBars = (factor) => [
  { row: 'cached', than: 'node', atLeast: factor },
  { row: 'cached', than: 'nginx', atLeast: 1 },
  { row: 'cached', than: 'proxy_cache', atLeast: 1 },
];

/** Two processes on one port: they share it, or nginx is a proxy in front of them. */
const onePort = {
  kind: 'serving',
  tools: ['shared', 'proxy_pass', 'proxy_pass, node'],
  baseline: 'proxy_pass',
  bars: [{ row: 'shared', than: 'proxy_pass', atLeast: 1 }],
  columns: ['moves'],
};
const twoPrefixes = { app: 'hello-at', connections: 50, paths: ['/foo/', '/bar/'] };

export const stack = [
  {
    ...withNginx,
    name: 'hello',
    question: 'Requests/s of a hello world (writeHead and end) on 50 connections that stay?',
    load: { app: 'hello', connections: 50 },
    bars: times(2),
    barsOn: { 26: [{ than: 'nginx', atLeast: 0.95 }] },
  },
  {
    ...serving,
    name: 'query',
    question: 'A request with eight header fields, whose query string is read?',
    load: {
      app: 'query',
      connections: 50,
      target: '/search?q=millrace&page=2&sort=new',
      headers: [
        'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        'Accept-Language: en-US,en;q=0.5',
        'Accept-Encoding: gzip, deflate, br',
        'Referer: http://localhost/',
        'Cookie: session=0123456789abcdef0123456789abcdef',
        'Cache-Control: no-cache',
      ],
    },
    bars: times(1.8),
    note: 'The eighth field is Host.',
  },
  {
    ...withNginx,
    name: 'latency',
    question: 'Latency of the hello world at 60 % of the load that node:http can bear?',
    // Longer and quieter than others: a stall of the machine of 100 ms is 5 % of 2 s, and would be the p95.
    load: { app: 'hello', connections: 50, seconds: 5 },
    quiet: 0.03,
    shareOfCapacity: 0.6,
    bars: [{ than: 'node', metric: 'p95Ms', atMost: 0.75 }],
  },
  {
    ...withNginx,
    name: 'pipelining-16',
    question: 'Requests/s of the hello world with 16 requests in flight on each of 50 connections?',
    load: { app: 'hello', connections: 50, pipelining: 16 },
    bars: times(5),
    barsOn: { 26: times(4.6) },
  },
  {
    ...withNginx,
    name: 'close',
    question: 'Requests/s of the hello world with a connection for each request?',
    load: { app: 'hello', connections: 50, close: true },
    bars: times(2.5),
    barsOn: { 26: [perCpu(0.9, 'nginx')] },
  },
  {
    ...serving,
    name: 'echo',
    question: 'A POST of 10 bytes, echoed by pipe; and is that as fast as by a buffer?',
    load: { app: 'echo-pipe', connections: 50, body: '0123456789' },
    loads: {
      'node, buffered': { tool: 'node', app: 'echo-buffer' },
      'millrace, buffered': { tool: 'millrace', app: 'echo-buffer' },
    },
    tools: [...serving.tools, 'node, buffered', 'millrace, buffered'],
    bars: [...times(2.5), { than: 'millrace, buffered', atLeast: 0.95 }],
    barsOn: { 26: [...times(2.8), { than: 'millrace, buffered', atLeast: 0.95 }] },
  },
  ...downloads,
  {
    ...serving,
    name: 'upload',
    question: 'Uploads of 1 MiB, whose bytes are counted?',
    // More requests in flight do not fit into the cache, and the run would measure its misses.
    load: { app: 'upload', connections: 10, bodyBytes: 2 ** 20 },
    bars: times(1.2),
    barsOn: { 26: times(1.15) },
  },
  {
    ...serving,
    name: 'upload-file',
    question: 'Uploads of 100 MiB, piped to a file in memory?',
    load: { app: 'upload-file', connections: 2, bodyBytes: 100 * 2 ** 20, seconds: 4 },
    bars: times(1),
  },
  {
    ...serving,
    name: 'multipart',
    question: 'Forms with a file of 1 MiB, read by busboy?',
    load: { app: 'multipart', connections: 10, formBytes: 2 ** 20 },
    bars: times(1),
    packages: ['busboy'],
  },
  ...frameworks,
  mounted,
  ...tls,
  ...http2,
  {
    ...cached,
    name: 'cache',
    question: 'The hello world out of the output cache, on 50 connections that stay?',
    load: { app: 'hello', connections: 50 },
    bars: cachedBars(4),
  },
  {
    ...cached,
    name: 'cache-pipelining-16',
    question: 'The same with 16 requests in flight on each connection?',
    load: { app: 'hello', connections: 50, pipelining: 16 },
    bars: cachedBars(13),
  },
  {
    ...serving,
    name: 'cache-busy',
    question: 'Latency of hits at 1000 a second, while the event loop computes for 500 ms at once?',
    load: { app: 'busy', connections: 50, rate: 1000, poisson: true, seconds: 5 },
    tools: ['node', 'millrace', 'cached'],
    bars: [{ row: 'cached', than: 'node', metric: 'p99Ms', atMost: 0.01 }],
  },
  {
    ...serving,
    name: 'companion-idle',
    question:
      'The hello world with a deadline, whose event loop is never busy for long: what does the second thread cost that waits for that?',
    load: { app: 'hello-while-busy', connections: 50 },
    loads: {
      'one thread': { tool: 'millrace', app: 'hello-one-thread' },
      'second thread': { tool: 'millrace', app: 'hello-while-busy' },
    },
    tools: ['one thread', 'second thread'],
    baseline: 'one thread',
    bars: [{ row: 'second thread', than: 'one thread', atLeast: 0.97 }],
  },
  {
    name: 'cache-distinct',
    kind: 'distinct',
    question: '1 GiB of different responses through an output cache of 64 MiB: in how much memory?',
    load: { app: 'download' },
    distinct: { responses: 16_384, bytes: 64 * 1024 },
    tools: ['millrace', 'cached'],
    // The bound, and a quarter of it for the fragmentation of the allocator.
    bars: [{ row: 'cached', than: 'millrace', atMostMib: 80 }],
  },
  {
    ...onePort,
    name: 'shared-own',
    question:
      'A process with a URL prefix and no other on its port: what does it cost to look for the owner?',
    load: { ...twoPrefixes, paths: ['/foo/'] },
    tools: ['millrace', 'shared'],
    baseline: 'millrace',
    bars: [{ row: 'shared', than: 'millrace', atLeast: 0.95 }],
  },
  {
    ...onePort,
    name: 'shared-foreign',
    question: 'Two processes on one port, each connection with requests for one of them?',
    load: twoPrefixes,
  },
  {
    ...onePort,
    name: 'shared-alternating',
    question: 'The same with requests for both in turn on each connection?',
    load: { ...twoPrefixes, alternating: true },
  },
  {
    ...onePort,
    name: 'shared-close',
    question: 'The same with a connection for each request?',
    load: { ...twoPrefixes, alternating: true, close: true },
  },
  {
    name: 'launch',
    kind: 'launch',
    question: 'A trivial application, from the start of its process until it listens?',
    load: { app: 'launch' },
    tools: ['node', 'millrace'],
    baseline: 'node',
    bars: [{ atMostMs: 15 }],
  },
  {
    name: 'idle',
    kind: 'idle',
    question: 'Memory of the server for each idle connection that has had an answer?',
    load: { app: 'idle' },
    vary: { from: 100, to: 10_100 },
    tools: ['node', 'millrace'],
    baseline: 'node',
    bars: [{ than: 'node', metric: 'bytesEach', atMost: 0.25 }],
  },
  {
    name: 'flood',
    kind: 'flood',
    question:
      '500 000 requests on one connection without waiting, each answered after 0 to 1000 ms: all, in order, in how much memory?',
    load: { app: 'delay' },
    flood: { requests: 500_000, limitSeconds: 2700 },
    tools: ['node', 'millrace'],
    bars: [{ atMost: 16 }],
  },
];

// The cases of the load suite. A case is data:
//   name, question   its name, and the question that it answers
//   kind             throughput (default), spacing, memory, start: the module that runs it
//   server           see ../servers/server.js
//   load             see ../clients/tools.js and, of scenarios, ../scenarios; `loads` adds to it for a row, and may name the row's tool
//   tools            the rows; baseline: the row that ratios refer to
//   bars             requirements for a row (default millrace)
//   columns          additional columns, see throughput.js
//   note             explanation of the result
import { availableParallelism } from 'node:os';
import { apps } from '../apps/cases.js';
import { stack } from '../stack/cases.js';
import { http2 } from './http2-cases.js';

const all = ['millrace', 'bare-client', 'wrk', 'oha', 'h2load', 'ab', 'autocannon'];
const study = [...all, 'loadtest', 'loadtest --tcp'];
const encrypted = ['millrace', 'wrk', 'oha', 'h2load'];

const ceiling = { than: 'bare-client', atLeast: 0.95 };
const notSlowerThanWrk = { than: 'wrk', atLeast: 1 };
const lessCpuThanWrk = { than: 'wrk', metric: 'cpuUsPerRequest', atMost: 1 };

const keepAlive = [
  { connections: 50 },
  { connections: 256 },
  // Some clients take a second to open this many connections.
  { connections: 5000, seconds: 4 },
].flatMap((load) => [
  {
    name: `keep-alive-${load.connections}`,
    question: `Requests/s of one thread with ${load.connections} connections, where the server is not the limit?`,
    server: { kind: 'bare' },
    load,
    tools: load.connections === 50 ? study : all,
    baseline: 'wrk',
    bars: [{ than: 'wrk', atLeast: 1.4 }, ceiling],
    note: 'One of the two bars has to be met.',
  },
  {
    name: `keep-alive-${load.connections}-nginx`,
    question: `And against nginx, one worker?`,
    server: { kind: 'nginx' },
    load,
    tools: load.connections === 50 ? study : all,
    baseline: 'wrk',
    bars: [notSlowerThanWrk, lessCpuThanWrk],
  },
]);

const handshakes = ['ecdsa', 'rsa'].map((key) => ({
  name: `tls-full-${key}`,
  question: `Full TLS 1.3 handshakes per second (a connection for each request), ${key === 'rsa' ? 'RSA 2048' : 'ECDSA P-256'} certificate, nginx?`,
  server: { kind: 'nginx', tls: key },
  load: { connections: 50, close: true, tls: 'full' },
  loads: {
    'millrace --ca': { tool: 'millrace', verify: true },
    'oha --cacert': { tool: 'oha', verify: true },
  },
  tools: ['millrace', 'millrace --ca', 'ab', 'wrk', 'oha', 'oha --cacert', 'h2load'],
  baseline: 'wrk',
  bars: [
    ...['ab', 'wrk', 'h2load', 'oha'].map((than) => ({ than, atLeast: 1 })),
    { row: 'millrace --ca', than: 'oha --cacert', atLeast: 1 },
    { than: 'oha', metric: 'cpuUsPerRequest', atMost: 1 },
  ],
  note: 'oha without --cacert skips the check of the handshake signature, which all others do.',
  columns: ['connections'],
}));

/** Cases of large bodies are judged by the CPU time of the client, as the server may be the limit. */
const lessCpu = (factor) => ({
  than: 'wrk',
  metric: 'cpuUsPerRequest',
  atMost: Number((1 / factor).toFixed(3)),
});
const large = { tools: [...encrypted, 'ab'], baseline: 'wrk' };

const sizes = [
  ['64-kib', '64 KiB', 2 ** 16, 1.6],
  ['1-mib', '1 MiB', 2 ** 20, 2.5],
];
const downloads = sizes.flatMap(([name, size, bytes, factor]) => [
  {
    ...large,
    name: `response-${name}`,
    question: `CPU of the client for each response of ${size}?`,
    server: { kind: 'bare', bodyBytes: bytes },
    load: { connections: 10 },
    bars: [lessCpu(factor)],
    note: `The bar: wrk needs ${factor} times as much.`,
  },
  {
    ...large,
    name: `response-${name}-tls`,
    question: 'The same over TLS?',
    server: { kind: 'bare', bodyBytes: bytes, tls: 'ecdsa' },
    load: { connections: 10, tls: 'keep-alive' },
    bars: [lessCpu(1.3)],
    note: 'The bar: wrk needs 1.3 times as much.',
  },
]);
const uploads = [undefined, 'ecdsa'].map((tls) => ({
  ...large,
  name: tls ? 'upload-1-mib-tls' : 'upload-1-mib',
  question: tls ? 'The same over TLS?' : 'CPU of the client for each upload of 1 MiB?',
  server: { kind: 'bare', tls },
  load: { connections: 10, bodyBytes: 2 ** 20, tls: tls && 'keep-alive' },
  bars: [lessCpu(1.3)],
  note: 'The bar: wrk needs 1.3 times as much.',
}));

const rates = [1000, 20_000].map((rate) => ({
  name: `open-${rate}`,
  kind: 'spacing',
  question: `Do ${rate} requests per second arrive evenly, as the schedule wants?`,
  server: { kind: 'bare', stamp: true },
  load: { rate },
  tools: ['millrace', 'oha', 'autocannon'],
  bars: [{ atMost: 200 }],
}));

const answers = {
  login: { token: '7d5f0c1e-93a4-4a7e-b0de-5f1f8f2a6c11', state: 'new' },
  items: { items: [{ id: 17, name: 'tea' }], state: 'paid' },
};
// The bare server has one answer for all requests.
const scenarioServers = {
  nginx: {
    kind: 'nginx',
    locations: { '/login': { json: answers.login }, '/items': { json: answers.items } },
  },
  bare: { kind: 'bare', json: { ...answers.login, ...answers.items } },
};
/** Rows of a flow of two steps: as a scenario, its requests alone, with a hook, and by others. */
const scenarioLoads = {
  millrace: { script: 'two-steps.js' },
  'millrace --targets': { tool: 'millrace', targets: 'two-steps.targets' },
  'millrace, hook': { tool: 'millrace', script: 'two-steps-hook.js' },
  k6: { script: 'two-steps.k6.js' },
  // It starts its users within a second, and V8 needs some more to compile it.
  artillery: { script: 'two-steps.artillery.yml', seconds: 8 },
};
const tenthOfCpu = (than) => ({ than, metric: 'cpuUsPerRequest', atMost: 0.1 });

const scenarios = ['nginx', 'bare'].flatMap((kind) => {
  const suffix = kind === 'nginx' ? '' : '-bare';
  const against = kind === 'nginx' ? 'nginx' : 'the bare server';
  const flow = {
    server: scenarioServers[kind],
    load: { connections: 50, seconds: 3 },
    loads: scenarioLoads,
  };
  return [
    {
      ...flow,
      name: `scenario-two-steps${suffix}`,
      question: `What does a flow of two steps with one JSON save and one check cost, on 50 connections, ${against}?`,
      tools: ['millrace', 'millrace --targets', 'k6', 'artillery'],
      baseline: 'millrace --targets',
      bars: [{ than: 'millrace --targets', atLeast: 0.7 }, ...['k6', 'artillery'].map(tenthOfCpu)],
      note: '`millrace --targets` sends the same two requests with a fixed token, and saves and checks nothing.',
    },
    {
      ...flow,
      name: `scenario-hook${suffix}`,
      question: `And if JavaScript reads each second response (\`after\`), ${against}?`,
      tools: ['millrace, hook', 'millrace', 'millrace --targets', 'k6'],
      baseline: 'millrace --targets',
      bars: [],
    },
  ];
});

const SCENARIO_USERS = { from: 100, to: 10_000 };

// With four cores each side has two; with fewer both sides share all cores.
const roomy = availableParallelism() >= 4;

export const suites = {
  load: [
    ...keepAlive,
    {
      name: 'pipelining-16',
      question: 'Requests/s with 16 requests in flight on each of 50 connections?',
      server: { kind: 'bare' },
      load: { connections: 50, pipelining: 16 },
      tools: ['millrace', 'bare-client', 'wrk', 'h2load', 'autocannon'],
      baseline: 'wrk',
      bars: [{ than: 'wrk', atLeast: 1.5 }],
    },
    {
      name: 'close',
      question: 'Requests/s with a connection for each request?',
      server: { kind: 'bare' },
      load: { connections: 50, close: true },
      tools: ['millrace', 'bare-client', 'ab', 'wrk', 'oha', 'h2load', 'loadtest'],
      baseline: 'ab',
      bars: [{ than: 'ab', atLeast: 1.2 }],
      columns: ['connections'],
    },
    ...['bare', 'nginx'].map((kind) => ({
      name: kind === 'bare' ? 'tls-keep-alive' : 'tls-keep-alive-nginx',
      question: `Requests/s over TLS on 50 connections that stay${kind === 'nginx' ? ', nginx' : ''}?`,
      server: { kind, tls: 'ecdsa' },
      load: { connections: 50, tls: 'keep-alive' },
      tools: encrypted,
      baseline: 'wrk',
      bars: [{ than: 'wrk', atLeast: 1.2 }],
    })),
    ...downloads,
    ...uploads,
    ...handshakes,
    {
      name: 'tls-resume',
      question: 'Resumed TLS 1.3 handshakes per second?',
      server: { kind: 'bare', tls: 'ecdsa' },
      load: { connections: 50, close: true, tls: 'resume' },
      tools: ['millrace', 'wrk', 'oha', 'h2load', 'ab'],
      baseline: 'wrk',
      columns: ['connections', 'resumed'],
      note: 'Only rows whose handshakes were nearly all resumed can be compared.',
    },
    {
      name: 'threads',
      question: 'Two threads against one?',
      server: { kind: 'bare', threads: roomy ? 2 : 1 },
      cores: roomy ? { server: '0-1', client: '2-3' } : { server: '0-1', client: '0-1' },
      load: { connections: 64, pipelining: 64 },
      loads: {
        'millrace -t 1': { tool: 'millrace', threads: 1 },
        'millrace -t 2': { tool: 'millrace', threads: 2 },
        'wrk -t 1': { tool: 'wrk', threads: 1 },
        'wrk -t 2': { tool: 'wrk', threads: 2 },
      },
      tools: ['millrace -t 1', 'millrace -t 2', 'wrk -t 1', 'wrk -t 2'],
      baseline: 'millrace -t 1',
      bars: [{ row: 'millrace -t 2', than: 'millrace -t 1', atLeast: 1.8 }],
      note: roomy
        ? 'Two cores for each side.'
        : 'Fewer than four cores: client and server share them, so two threads cannot reach twice the requests/s of one. What can be read is the CPU per request: the same with two threads as with one means that the threads do not hinder each other.',
    },
    ...http2,
    ...rates,
    ...scenarios,
    {
      name: 'scenario-memory',
      kind: 'memory',
      question:
        'Memory of the client for each user of a scenario, with a cookie and three variables?',
      server: {
        kind: 'nginx',
        locations: {
          '/session': {
            json: { ...answers.login, user: 'ada@shop.example' },
            cookie: `sid=${answers.login.token}; Path=/`,
          },
          '/items': { json: answers.items },
        },
      },
      load: { seconds: 4, script: 'cookies.js' },
      vary: { key: 'connections', ...SCENARIO_USERS },
      tools: ['millrace'],
      bars: [{ atMost: Math.floor(40e6 / (SCENARIO_USERS.to - SCENARIO_USERS.from)) }],
      note: 'The bar: 10,000 users need at most 40 MB more than 100. Each user has a connection of its own.',
    },
    {
      name: 'memory-connections',
      kind: 'memory',
      question: 'Memory of the client for each connection?',
      server: { kind: 'bare' },
      load: { seconds: 3 },
      vary: { key: 'connections', from: 100, to: 10_000 },
      tools: ['millrace', 'wrk', 'oha', 'h2load', 'autocannon'],
      bars: [{ atMost: 6 * 1024 }],
    },
    {
      name: 'memory-requests',
      kind: 'memory',
      question: 'Does the memory of the client grow with the number of requests?',
      server: { kind: 'bare' },
      load: { connections: 50, pipelining: 16, seconds: 30 },
      vary: { key: 'requests', from: 1_000_000, to: 10_000_000 },
      tools: ['millrace'],
      bars: [{ atMost: 0.5 }],
    },
    {
      name: 'start',
      kind: 'start',
      question: 'Time from the start of the process to its first request?',
      server: { kind: 'bare' },
      load: { connections: 50, seconds: 1 },
      tools: ['millrace', 'wrk', 'oha', 'h2load', 'ab', 'autocannon'],
      bars: [{ atMost: 100 }],
    },
  ],
  stack,
  apps,
};

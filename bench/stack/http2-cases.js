// The cases of HTTP/2 in the suite `stack`, as those of cases.js: the compatibility API of node:http2 beside node:https on Millrace.

const streams = { connections: 50, streams: 10, tls: 'keep-alive' };
/** The application's protocol, and what it answers. */
const secure = (protocol, ...args) => ({ app: 'secure', args: [protocol, ...args] });
const loads = (...args) => ({
  'node:http2': { tool: 'node', ...secure('http2', ...args) },
  millrace: { tool: 'http2', ...secure('https', ...args) },
});
const serving = {
  kind: 'serving',
  tools: ['node:http2', 'millrace', 'bun'],
  baseline: 'node:http2',
};
const times = (atLeast) => [{ than: 'node:http2', atLeast }];

export const http2 = [
  {
    ...serving,
    name: 'h2-hello',
    question: 'Requests/s of a hello world over HTTP/2, 10 streams on each of 50 TLS connections?',
    tools: ['node:http2', 'millrace', 'nginx'],
    load: streams,
    loads: loads('hello'),
    bars: times(3),
  },
  {
    ...serving,
    name: 'h2-express',
    question:
      'A hello world on Express 5 over HTTP/2, and over HTTP/1.1, both with TLS on Millrace?',
    tools: ['HTTP/1.1', 'millrace'],
    baseline: 'HTTP/1.1',
    load: streams,
    loads: {
      'HTTP/1.1': { tool: 'http2', streams: undefined, ...secure('https', 'express') },
      millrace: loads('express').millrace,
    },
    bars: [{ than: 'HTTP/1.1', atLeast: 1 }],
    packages: ['express'],
  },
  {
    ...serving,
    name: 'h2-download-64-kib',
    question: 'Responses of 64 KiB from a buffer over HTTP/2?',
    tools: ['node:http2', 'millrace'],
    load: { ...streams, connections: 10 },
    loads: loads('download', 2 ** 16),
    bars: times(1.5),
  },
  {
    ...serving,
    name: 'h2-upload',
    question: 'Uploads of 1 MiB over HTTP/2, whose bytes are counted?',
    tools: ['node:http2', 'millrace'],
    load: { connections: 10, streams: 1, tls: 'keep-alive', bodyBytes: 2 ** 20 },
    loads: loads('upload'),
    bars: times(1.2),
  },
  {
    ...serving,
    name: 'h2-cache',
    question: 'The hello world out of the output cache over HTTP/2?',
    tools: ['cached', 'proxy_cache'],
    baseline: 'proxy_cache',
    load: streams,
    loads: { cached: { tool: 'http2 cached', ...secure('https', 'hello') } },
    bars: [{ row: 'cached', than: 'proxy_cache', atLeast: 1 }],
  },
];

// The cases of HTTP/2 in the load suite, as those of cases.js.

const faster = [{ than: 'h2load', atLeast: 1.2 }];
const tenByTen = { connections: 10, streams: 10 };

const shapes = [
  { shape: '10x10', load: tenByTen, words: '10 streams on each of 10 connections' },
  {
    shape: '50x1',
    load: { connections: 50, streams: 1 },
    words: 'one stream on each of 50 connections',
  },
];

const requests = [undefined, 'ecdsa'].flatMap((tls) =>
  shapes.map(({ shape, load, words }) => ({
    name: `h2-${tls ? 'tls-' : ''}${shape}`,
    question: `Requests/s of one thread over HTTP/2, ${tls ? 'TLS' : 'cleartext'}, ${words}?`,
    server: { kind: 'bare', protocol: 'http2', tls },
    load: { ...load, tls: tls && 'keep-alive' },
    tools: ['millrace', 'h2load', 'oha'],
    baseline: 'h2load',
    bars: faster,
  })),
);

export const http2 = [
  ...requests,
  {
    name: 'h2-upload',
    question: 'And with a body of 1 KiB in each request, cleartext, 10 streams on 10 connections?',
    server: { kind: 'bare', protocol: 'http2' },
    load: { ...tenByTen, bodyBytes: 1024 },
    tools: ['millrace', 'h2load', 'oha'],
    baseline: 'h2load',
    bars: [{ than: 'h2load', atLeast: 1 }],
  },
  {
    name: 'grpc-unary',
    question: 'Calls/s of gRPC, cleartext, 10 at once on each of 10 connections?',
    server: { kind: 'bare', protocol: 'grpc' },
    load: { ...tenByTen, grpc: 'bench.Greeter/Greet', messageText: 'hello, world' },
    tools: ['millrace', 'ghz', 'h2load'],
    baseline: 'ghz',
    bars: [{ than: 'ghz', atLeast: 1 }],
    note: 'h2load sends the same bytes, but does not look at the status of the call.',
  },
];

// Small applications: each is the options of its server, the properties set on it, and its listeners.
import { later } from './later.js';
import { describeError } from './record.js';

/** Reads the body and answers with what came. */
function echo(req, res, line) {
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const body = Buffer.concat(chunks);
    line(`body ${body.toString('latin1')}`);
    res.end(`${req.method} ${req.url} ${body.length}`);
  });
}

function answerErrors(record) {
  return (error, socket) => {
    record.line(socket, `clientError ${describeError(error)} writable ${socket.writable}`);
    if (socket.writable) socket.end('HTTP/1.1 499 Mine\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  };
}

function reportErrors(record) {
  return (error, socket) => {
    record.line(socket, `clientError ${describeError(error)}`);
    socket.destroy();
  };
}

function upgraded(record) {
  return (req, socket, head) => {
    record.exchange(req, null, true);
    // From Node 26 on, a request with a body brings a stream of its own.
    record.line(req.socket, `upgrade ${req.method} head ${head.toString('latin1')}`);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n');
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end('over'));
    socket.on('error', () => {});
    if (head.length > 0) socket.write(head);
  };
}

export const applications = {
  /** Nothing is listened to but requests: the shortest way through the server. */
  bare: { quiet: true, request: (req, res) => res.end(`${req.method} ${req.url}`) },
  head: {
    quiet: true,
    request(_req, res) {
      res.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': 5 });
      res.end('hello');
    },
  },
  echo: { request: echo },
  errors: { request: echo, clientError: answerErrors },
  report: { request: echo, clientError: reportErrors },
  early: { request: (_req, res) => res.end('early') },
  piped: {
    request(req, res) {
      // Chunks are as the packets were.
      res.useChunkedEncodingByDefault = false;
      req.pipe(res);
    },
  },
  trailers: {
    request(req, res) {
      if (req.method !== 'HEAD' && res.useChunkedEncodingByDefault)
        res.setHeader('Trailer', 'X-End');
      res.write(req.url);
      res.addTrailers({ 'X-End': 'yes' });
      res.end();
    },
  },
  parts: {
    request(req, res, line) {
      req.resume();
      res.write('one');
      later(() => {
        line('second');
        res.end('two');
      });
    },
  },
  /** Every other answer comes later: answers must still be in order. */
  uneven: {
    request(req, res) {
      req.resume();
      if (req.url.length % 2 === 0) res.end(req.url);
      else later(() => res.end(`late ${req.url}`));
    },
  },
  never: { request: (req) => req.resume() },
  unread: { request() {} },
  throttled: {
    request(req, res, line) {
      req.once('data', (chunk) => {
        line(`first ${chunk.length > 0}`);
        req.pause();
        later(() => req.resume());
      });
      req.on('end', () => res.end('done'));
    },
  },
  destroyed: { request: (req) => req.destroy() },
  dropped: { request: (_req, res) => res.destroy() },
  closing: {
    request(_req, res) {
      res.setHeader('Connection', 'close');
      res.end('bye');
    },
  },
  upgrade: { request: echo, upgrade: upgraded },
  upgradeLate: {
    request(req, res) {
      req.resume();
      later(() => res.end('late'));
    },
    upgrade: upgraded,
  },
  connect: {
    request: echo,
    connect: (record) => (req, socket, head) => {
      record.exchange(req, null, true);
      record.line(socket, `connect ${req.url} head ${head.toString('latin1')}`);
      socket.on('error', () => {});
      socket.end('HTTP/1.1 200 Connected\r\n\r\n');
    },
  },
  expect: {
    request: echo,
    checkContinue: (record) => (req, res) => {
      const line = record.exchange(req, res);
      line('checkContinue');
      res.writeContinue();
      echo(req, res, line);
    },
    checkExpectation: (record) => (req, res) => {
      record.exchange(req, res)('checkExpectation');
      res.end('expected');
    },
  },
  refuse: {
    request: echo,
    checkContinue: (record) => (req, res) => {
      record.exchange(req, res)('checkContinue');
      res.writeHead(403).end('no');
    },
  },
  hostless: { options: { requireHostHeader: false }, request: echo },
  joined: { options: { joinDuplicateHeaders: true }, request: echo },
  small: { options: { maxHeaderSize: 256 }, request: echo, clientError: answerErrors },
  lenient: { options: { insecureHTTPParser: true }, request: echo, clientError: answerErrors },
  counted: { properties: { maxRequestsPerSocket: 2 }, request: echo },
  few: { properties: { maxHeadersCount: 3 }, request: echo },
  halfOpen: { properties: { httpAllowHalfOpen: true }, request: echo },
  unkept: { properties: { keepAliveTimeout: 0 }, request: echo },
};

// What applications and their tools do with a server, by name: each gives what it saw, as lines.
import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { finished, pipeline } from 'node:stream';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const LAST = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** Sends these bytes to a server over one connection, and gives what came until it was closed. */
async function ask(server, ...requests) {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = net.connect(server.address().port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    // One after the other: a request waits for what answers the one before it.
    if (received.split('HTTP/1.1 ').length > sent) send();
  });
  socket.on('error', () => {});
  let sent = 0;
  const send = () => sent < requests.length && socket.write(requests[sent++]);
  send();
  await once(socket, 'close');
  return received.replace(/Date: [^\r\n]*/g, 'Date: *');
}

async function closed(server) {
  await new Promise((resolve) => server.close(resolve));
}

async function asked(server, lines, ...requests) {
  lines.push(await ask(server, ...requests));
  await closed(server);
  return lines;
}

export const scenarios = {
  async 'a context per request'() {
    const storage = new AsyncLocalStorage();
    const lines = [];
    const server = http.createServer((req, res) => {
      lines.push(`before ${req.url} ${storage.getStore()}`);
      storage.run(req.url, () => {
        res.on('finish', () => lines.push(`finish ${storage.getStore()}`));
        setImmediate(() => res.end(storage.getStore()));
      });
    });
    return asked(server, lines, GET.replace('/', '/1'), GET.replace('/', '/2'), LAST);
  },
  async 'a context that is entered stays with its connection'() {
    const storage = new AsyncLocalStorage();
    const lines = [];
    const server = http.createServer((req, res) => {
      storage.enterWith(req.headers.cookie);
      req.on('data', () => lines.push(`data ${storage.getStore()}`));
      req.on('end', () => {
        lines.push(`end ${storage.getStore()}`);
        res.end(storage.getStore());
      });
    });
    const body = 'Content-Length: 1\r\n\r\na';
    const post = (cookie) => `POST / HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n${body}`;
    const last = LAST.replace('\r\n\r\n', '\r\nCookie: last\r\n\r\n');
    lines.push(await ask(server, post('one'), last), await ask(server, post('two'), last));
    await closed(server);
    lines.push(`outside ${storage.getStore()}`);
    return lines;
  },
  async 'diagnostics channels'() {
    const lines = [];
    const names = ['http.server.request.start', 'http.server.response.finish'];
    const listeners = names.map((name) => [
      name,
      (message) => lines.push(`${name} ${Object.keys(message).sort()} ${message.request.url}`),
    ]);
    for (const [name, listener] of listeners) diagnostics.subscribe(name, listener);
    const server = http.createServer((_req, res) => res.end('x'));
    await asked(server, lines, GET, LAST);
    for (const [name, listener] of listeners) diagnostics.unsubscribe(name, listener);
    return lines;
  },
  async 'several listeners, one added later'() {
    const lines = [];
    const server = http.createServer(() => lines.push('first'));
    server.on('request', (_req, res) => {
      lines.push('second');
      res.end('x');
    });
    server.prependOnceListener('request', () => lines.push('once, before'));
    return asked(server, lines, GET, LAST);
  },
  async 'no listener, then one'() {
    const server = http.createServer();
    server.once('connection', () => server.on('request', (_req, res) => res.end('x')));
    return asked(server, [], LAST);
  },
  async 'emit is wrapped'() {
    const lines = [];
    const { emit } = http.Server.prototype;
    http.Server.prototype.emit = function (event, ...args) {
      if (event === 'request') lines.push(`emits ${args[0].url} ${args[1].constructor.name}`);
      return emit.call(this, event, ...args);
    };
    await asked(
      http.createServer((_req, res) => res.end('x')),
      lines,
      GET,
      LAST,
    );
    http.Server.prototype.emit = emit;
    return lines;
  },
  async 'own classes'() {
    class Request extends http.IncomingMessage {
      get path() {
        return this.url.slice(1);
      }
    }
    class Response extends http.ServerResponse {
      end(...args) {
        this.setHeader('X-Mine', 'yes');
        return super.end(...args);
      }
    }
    const options = { IncomingMessage: Request, ServerResponse: Response };
    return asked(
      http.createServer(options, (req, res) => res.end(req.path)),
      [],
      GET,
      LAST,
    );
  },
  async 'a response of the old kind'() {
    function Old(req) {
      http.ServerResponse.call(this, req);
    }
    Object.setPrototypeOf(Old.prototype, http.ServerResponse.prototype);
    return asked(
      http.createServer({ ServerResponse: Old }, (_req, res) => res.end(`${res instanceof Old}`)),
      [],
      LAST,
    );
  },
  async 'borrowed methods'() {
    const { setHeader, end } = http.OutgoingMessage.prototype;
    const server = http.createServer((_req, res) => {
      setHeader.call(res, 'Set-Cookie', ['a=1', 'b=2']);
      end.call(res, 'x');
    });
    return asked(server, [], GET, LAST);
  },
  async 'a handler that throws'() {
    const lines = [];
    const listener = (error) => lines.push(`uncaught ${error.message}`);
    process.on('uncaughtException', listener);
    const server = http.createServer((req, res) => {
      res.end('answered');
      if (req.url === '/') throw new Error('mine');
    });
    await asked(server, lines, GET, LAST);
    process.off('uncaughtException', listener);
    return lines;
  },
  async 'a handler that throws before it answers'() {
    const lines = [];
    const server = http.createServer((_req, res) => {
      pending = res;
      throw new Error('mine');
    });
    let pending;
    const listener = (error) => {
      lines.push(`uncaught ${error.message}`);
      pending.writeHead(500, { Connection: 'close' }).end('sorry');
    };
    process.on('uncaughtException', listener);
    await asked(server, lines, GET);
    process.off('uncaughtException', listener);
    return lines;
  },
  async 'rejections are captured'() {
    EventEmitter.captureRejections = true;
    const server = http.createServer(async () => {
      await null;
      throw new Error('mine');
    });
    EventEmitter.captureRejections = false;
    return asked(server, [], LAST);
  },
  async 'finished and pipeline'() {
    const lines = [];
    const server = http.createServer((req, res) => {
      finished(req, (error) => lines.push(`request ${error?.code ?? 'finished'}`));
      finished(res, (error) => lines.push(`response ${error?.code ?? 'finished'}`));
      pipeline(req, res, (error) => lines.push(`pipeline ${error?.code ?? 'done'}`));
    });
    const post = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc';
    await asked(server, lines, post, LAST);
    return lines.sort();
  },
  async 'a body read in all ways'() {
    const lines = [];
    const server = http.createServer(async (req, res) => {
      if (req.url === '/text') req.setEncoding('utf8');
      if (req.url === '/paused') {
        req.pause();
        await new Promise(setImmediate);
        req.resume();
      }
      const chunks = [];
      if (req.url === '/read') {
        for await (const _ of EventEmitter.on(req, 'readable', { close: ['end'] })) {
          for (let chunk = req.read(2); chunk !== null; chunk = req.read(2)) chunks.push(chunk);
          const rest = req.read();
          if (rest !== null) chunks.push(rest);
        }
      } else {
        for await (const chunk of req) chunks.push(chunk);
      }
      lines.push(`${req.url} ${chunks.map((chunk) => `${typeof chunk} ${chunk}`).join()}`);
      lines.push(`${req.complete} ${req.readableEnded}`);
      res.end('x');
    });
    const body = 'Host: a\r\nContent-Length: 3\r\n\r\nabc';
    const post = (url) => `POST ${url} HTTP/1.1\r\n${body}`;
    return asked(server, lines, post('/text'), post('/paused'), post('/read'), post('/'), LAST);
  },
  async 'handlers that await'() {
    const server = http.createServer(async (_req, res) => {
      await null;
      res.writeHead(200, { 'X-A': '1' });
      await new Promise(setImmediate);
      res.write('one');
      await new Promise(setImmediate);
      res.end('two');
    });
    return asked(server, [], GET, LAST);
  },
  async 'a keep-alive time of its own'() {
    const lines = [];
    for (const keepAliveTimeout of [0, 1, 999, 1_500, 72_000, Number.POSITIVE_INFINITY]) {
      const server = http.createServer((_req, res) => res.end('x'));
      server.keepAliveTimeout = keepAliveTimeout;
      await asked(server, lines, GET, LAST);
    }
    return lines;
  },
  async 'the order of events of a request and its response'() {
    const lines = [];
    const actions = {
      '/end': (req, res) => req.resume().on('end', () => res.end('x')),
      '/write': (req, res) => {
        res.setHeader('Content-Length', 2);
        req.resume().on('end', () => res.write('x') && res.end('y'));
      },
      '/told': (req, res) => req.resume().on('end', () => res.end('x', () => lines.push('told'))),
      '/tick': (req, res) => req.resume().on('end', () => process.nextTick(() => res.end('x'))),
      '/pipe': (req, res) => req.pipe(res),
      '/early': (req, res) => req.resume() && res.end('x'),
      '/last': (_req, res) => res.end('x'),
    };
    const server = http.createServer((req, res) => {
      for (const event of ['end', 'close']) req.on(event, () => lines.push(`req ${event}`));
      for (const event of ['prefinish', 'finish', 'close']) {
        res.on(event, () => lines.push(`res ${event}`));
      }
      lines.push(req.url);
      actions[req.url](req, res);
    });
    const body = 'Host: a\r\nContent-Length: 3\r\n\r\nabc';
    const posts = Object.keys(actions).slice(0, -1);
    return asked(server, lines, ...posts.map((url) => `POST ${url} HTTP/1.1\r\n${body}`), LAST);
  },
  async 'who hears that bytes have left writes on'() {
    const lines = [];
    const server = http.createServer((_req, res) => {
      res.on('drain', () => lines.push('drain'));
      res.socket.once('drain', () => lines.push(`drain of the socket, ${res.write('x')}`));
      const over = () => setImmediate(() => res.end());
      // More than the system takes at once.
      const many = Buffer.alloc(16 * 1024 * 1024);
      const written = () => lines.push(`written, ${res.write('y', over)}`);
      setImmediate(() => lines.push(`many, ${res.write(many, written)}`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = net.connect(server.address().port, '127.0.0.1').resume();
    client.write(LAST);
    await once(client, 'close');
    await closed(server);
    return lines;
  },
  async 'as many requests as a connection may have, one of them unusual'() {
    const lines = [];
    const server = http.createServer(function (req, res) {
      const itself = this === server && req.socket.server === server;
      lines.push(`${req.url} ${itself} ${server.maxRequestsPerSocket}`);
      res.end('x');
    });
    server.maxRequestsPerSocket = 4;
    server.on('dropRequest', (req, socket) => {
      lines.push(`dropped ${req.url}`);
      setImmediate(() => socket.end());
    });
    const unusual = GET.replace('/', 'http://a/');
    lines.push(await ask(server, GET, GET, unusual, GET + GET));
    // The limit that was lowered meanwhile has been exceeded.
    server.prependListener('request', (req) => {
      if (req.url.startsWith('/')) server.maxRequestsPerSocket = 1;
    });
    return asked(server, lines, GET, unusual);
  },
  async 'unique headers'() {
    const server = http.createServer({ uniqueHeaders: ['x-a', 'x-c'] }, (_req, res) => {
      res.setHeader('X-A', ['1', '2']);
      res.appendHeader('X-C', '1');
      res.appendHeader('X-C', '2');
      res.end('x');
    });
    return asked(server, [], GET, LAST);
  },
};

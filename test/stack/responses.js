// What applications do with a response, by name: each takes the response and a function that notes something.
import { Readable } from 'node:stream';

/** Runs `action` and notes what it gives, or the error. */
function attempt(note, action) {
  try {
    const given = action();
    note(
      `gives ${given?.constructor?.name === 'ServerResponse' ? 'itself' : JSON.stringify(given)}`,
    );
  } catch (error) {
    note(`throws ${error.code ?? error.name}: ${error.message}`);
  }
}

const told = (note, name) => (error) => note(`${name} ${error?.code ?? 'done'}`);
const text = 'h\u00e9llo \u20ac \u{1f600}';
const encodings = ['utf8', 'UTF-8', 'latin1', 'ascii', 'binary', 'hex', 'base64', 'base64url'];

const ends = {
  nothing: (res) => res.end(),
  undefined: (res) => res.end(undefined),
  null: (res) => res.end(null),
  'three nulls': (res) => res.end(null, null, null),
  'text and two nulls': (res) => res.end('x', null, null),
  'empty text': (res) => res.end(''),
  'empty bytes': (res) => res.end(Buffer.alloc(0)),
  text: (res) => res.end(text),
  bytes: (res) => res.end(Buffer.from(text)),
  array: (res) => res.end(new Uint8Array([104, 105])),
  'part of an array': (res) => res.end(new Uint8Array([1, 104, 105, 1]).subarray(1, 3)),
  'other array': (res, note) => attempt(note, () => res.end(new Uint16Array([104, 105]))),
  number: (res, note) => {
    attempt(note, () => res.end(5));
    res.destroyed || res.end('after');
  },
  object: (res, note) => {
    attempt(note, () => res.end({}));
    res.destroyed || res.end('after');
  },
  callback: (res, note) => res.end(told(note, 'end')),
  'text, callback': (res, note) => res.end('x', told(note, 'end')),
  'text, encoding, callback': (res, note) => res.end('x', 'utf8', told(note, 'end')),
  'null, callback': (res, note) => res.end(null, told(note, 'end')),
  '10 KB': (res) => res.end('x'.repeat(10_000)),
  '100 KB': (res) => res.end('\u00e9'.repeat(50_000)),
  '1 MB of bytes': (res) => res.end(Buffer.alloc(1_000_000, 'a')),
  ...Object.fromEntries(encodings.map((name) => [`in ${name}`, (res) => res.end('68c3a9', name)])),
  'in utf16le': (res) => res.end(text, 'utf16le'),
};

const writes = {
  one: (res) => {
    res.write('one');
    res.end();
  },
  'one and the last': (res) => {
    res.write('one');
    res.end('two');
  },
  three: (res, note) => {
    res.write('one', told(note, 'one'));
    res.write(Buffer.from('two'), told(note, 'two'));
    res.write('three', 'latin1', told(note, 'three'));
    res.end('four', told(note, 'end'));
  },
  'over turns': (res) => {
    res.write('one');
    setImmediate(() => {
      res.write('two');
      setImmediate(() => res.end('three'));
    });
  },
  'over ticks': (res) => {
    res.write('one');
    process.nextTick(() => res.end('two'));
  },
  'empty text': (res, note) => {
    attempt(note, () => res.write(''));
    res.end('x');
  },
  'empty bytes': (res, note) => {
    attempt(note, () => res.write(Buffer.alloc(0)));
    res.end();
  },
  'of a given length': (res) => {
    res.setHeader('Content-Length', 6);
    res.write('one');
    res.end('two');
  },
  'in all encodings': (res) => {
    for (const name of encodings) res.write('68c3a9', name);
    res.end(text, 'utf16le');
  },
  'null and numbers': (res, note) => {
    attempt(note, () => res.write(null));
    attempt(note, () => res.write(5));
    attempt(note, () => res.write());
    res.end('x');
  },
  large: (res, note) => {
    note(`goes on ${res.write('x'.repeat(100_000))}`);
    note(`waits ${res.writableNeedDrain}`);
    res.once('drain', () => {
      note('drain');
      res.end('last');
    });
  },
  'of bytes, large': (res, note) => {
    note(`goes on ${res.write(Buffer.alloc(500_000))}`);
    res.once('drain', () => res.end());
  },
  'from a stream': (res) => Readable.from(['one', 'two', 'three']).pipe(res),
  corked: (res, note) => {
    res.cork();
    res.write('one');
    res.write('two', told(note, 'two'));
    note(`corked ${res.writableCorked}`);
    res.uncork();
    res.cork();
    res.write('three');
    res.end('four');
  },
  'corked, later': (res) => {
    res.cork();
    res.write('one');
    setImmediate(() => {
      res.uncork();
      res.end('two');
    });
  },
};

const heads = {
  status: (res) => res.writeHead(201).end('x'),
  'status and reason': (res) => res.writeHead(201, 'Mine').end('x'),
  object: (res) => res.writeHead(200, { 'X-A': 1, 'x-b': 'two', 'X-C': ['1', '2'] }).end('x'),
  'reason, object': (res) => res.writeHead(200, 'Mine', { 'X-A': 1 }).end('x'),
  'flat array': (res) => res.writeHead(200, ['X-A', '1', 'X-A', '2']).end('x'),
  'array of pairs': (res, note) => {
    attempt(note, () =>
      res.writeHead(200, [
        ['X-A', '1'],
        ['X-B', '2'],
      ]),
    );
    res.end('x');
  },
  'odd array': (res, note) => {
    attempt(note, () => res.writeHead(200, ['X-A']));
    res.end('x');
  },
  'over set fields': (res) => {
    res.setHeader('X-A', 'set');
    res.setHeader('X-B', 'set');
    res.writeHead(200, { 'x-a': 'given', 'X-C': 'new' }).end('x');
  },
  'array over set fields': (res) => {
    res.setHeader('X-A', 'set');
    res.writeHead(200, ['x-a', 'given', 'X-C', 'new']).end('x');
  },
  'set, read, removed': (res, note) => {
    res.setHeader('X-A', 1);
    res.setHeader('X-B', ['a', 'b']);
    res.appendHeader('X-B', 'c');
    res.setHeader('X-C', 'gone');
    res.removeHeader('x-c');
    note(JSON.stringify([res.getHeader('x-a'), res.getHeaders(), res.getHeaderNames()]));
    note(JSON.stringify([res.getRawHeaderNames(), res.hasHeader('X-B'), res.hasHeader('X-C')]));
    res.end('x');
  },
  'set all': (res) => {
    res.setHeaders(new Map([['X-A', '1']]));
    res.end('x');
  },
  length: (res) => res.writeHead(200, { 'Content-Length': 1 }).end('x'),
  'length as text': (res) => res.writeHead(200, { 'content-length': '1' }).end('x'),
  'length too great': (res) => {
    res.writeHead(200, { 'Content-Length': 9 });
    res.end('x');
    setImmediate(() => res.socket?.destroy());
  },
  'length, strict': (res, note) => {
    res.strictContentLength = true;
    res.setHeader('Content-Length', 2);
    attempt(note, () => res.end('abc'));
    attempt(note, () => res.end('ab'));
  },
  chunked: (res) => res.writeHead(200, { 'Transfer-Encoding': 'chunked' }).end('x'),
  'length and chunked': (res) => {
    res.writeHead(200, { 'Transfer-Encoding': 'chunked', 'Content-Length': 1 }).end('x');
  },
  close: (res) => res.writeHead(200, { Connection: 'close' }).end('x'),
  'keep-alive': (res) => res.writeHead(200, { Connection: 'keep-alive' }).end('x'),
  'keep-alive, told': (res) => res.writeHead(200, { 'Keep-Alive': 'timeout=9' }).end('x'),
  upgrade: (res) => res.writeHead(200, { Connection: 'upgrade' }).end('x'),
  date: (res) => res.writeHead(200, { Date: 'today' }).end('x'),
  'no date': (res) => {
    res.sendDate = false;
    res.end('x');
  },
  'date removed': (res) => {
    res.removeHeader('Date');
    res.end('x');
  },
  'length removed': (res) => {
    res.removeHeader('Content-Length');
    res.end('x');
  },
  'connection removed': (res) => {
    res.removeHeader('Connection');
    res.end('x');
  },
  'coding removed': (res) => {
    res.removeHeader('Transfer-Encoding');
    res.write('x');
    res.end();
  },
  'not kept': (res) => {
    res.shouldKeepAlive = false;
    res.end('x');
  },
  'not chunked': (res) => {
    res.useChunkedEncodingByDefault = false;
    res.write('x');
    res.end();
  },
  'status and reason set': (res) => {
    res.statusCode = 404;
    res.statusMessage = 'Nowhere';
    res.end('x');
  },
  'unknown status': (res) => res.writeHead(799).end('x'),
  'status as text': (res) => res.writeHead('202').end('x'),
  'wrong status': (res, note) => {
    for (const status of [99, 1000, 'x', undefined, -1]) attempt(note, () => res.writeHead(status));
    res.end('x');
  },
  204: (res) => res.writeHead(204).end(),
  '204 with body': (res) => res.writeHead(204).end('x'),
  '204 with length': (res) => res.writeHead(204, { 'Content-Length': 0 }).end(),
  '204 written': (res, note) => {
    res.statusCode = 204;
    attempt(note, () => res.write('x'));
    res.end();
  },
  304: (res) => res.writeHead(304, { ETag: 'a' }).end(),
  '304 with body': (res) => res.writeHead(304).end('x'),
  205: (res) => res.writeHead(205).end('x'),
  'wrong fields': (res, note) => {
    const wrong = ['', 'a b', 'a:', 'a\r', '\u00e9', 'a\0', undefined, 5];
    for (const name of wrong) attempt(note, () => res.setHeader(name, 'x'));
    for (const value of ['a\r\nb', 'a\nb', 'a\0', '\u20ac', '\x7f', undefined]) {
      attempt(note, () => res.setHeader('X-A', value));
    }
    attempt(note, () => res.setHeader('X-B', ['a\r\n']));
    res.end('x');
  },
  'wrong fields at once': (res, note) => {
    for (const fields of [{ 'a b': 1 }, { a: 'x\r\ny' }, { a: undefined }, { a: ['x', '\n'] }]) {
      attempt(note, () => res.writeHead(200, fields));
    }
    if (!res.headersSent) res.end('x');
    else res.end();
  },
  'wrong reason': (res, note) => {
    attempt(note, () => res.writeHead(200, 'a\r\nb'));
    if (!res.headersSent) res.end('x');
  },
  'strange values': (res) => {
    res.writeHead(200, { a: '', b: ' x ', c: 0, d: true, e: null, f: 1.5, g: '\xe9\t' }).end('x');
  },
  'values that are objects': (res) => {
    res.setHeader('X-A', { toString: () => 'text' });
    res.setHeader('X-B', []);
    res.end('x');
  },
  'field names of all kinds': (res) => {
    res.writeHead(200, { 'X_Y.z~': 1, __proto__: { inherited: 1 }, Trailer: 'a', Cookie: 'b' });
    res.end('x');
  },
  'repeated cookie': (res) => {
    res.setHeader('Set-Cookie', ['a=1', 'b=2']);
    res.setHeader('Cookie', ['a=1', 'b=2']);
    res.end('x');
  },
  disposition: (res) => {
    res.setHeader('Content-Disposition', 'inline; filename="\xe9"');
    res.setHeader('Content-Length', 1);
    res.end('x');
  },
  'as one object twice': (res) => {
    const fields = { 'X-A': 'a' };
    res.writeHead(200, fields);
    fields['X-A'] = 'b';
    res.end('x');
  },
  'with numbers as names': (res) => res.writeHead(200, { 1: 'a', b: 'c' }).end('x'),
};

const early = {
  continue: (res, note) => {
    res.writeContinue(told(note, 'continue'));
    res.end('x');
  },
  processing: (res) => {
    res.writeProcessing();
    res.end('x');
  },
  hints: (res, note) => {
    res.writeEarlyHints({ link: '</a>; rel=preload' }, told(note, 'hints'));
    res.writeEarlyHints({ link: ['</b>; rel=preload', '</c>; rel=preload'], 'X-A': 'a' });
    res.end('x');
  },
  'wrong hints': (res, note) => {
    for (const link of ['a', '</a>; rel=preload\r\nX: y', 5]) {
      attempt(note, () => res.writeEarlyHints({ link }));
    }
    res.end('x');
  },
  'head at once': (res, note) => {
    res.setHeader('X-A', 1);
    res.flushHeaders();
    note(`sent ${res.headersSent}`);
    setImmediate(() => res.end('x'));
  },
  'head at once, then the end': (res) => {
    res.flushHeaders();
    res.end('x');
  },
  trailers: (res) => {
    res.setHeader('Trailer', 'X-T');
    res.write('x');
    res.addTrailers({ 'X-T': '1' });
    res.addTrailers([['X-U', '2']]);
    res.end('y');
  },
  'trailers, wrong': (res, note) => {
    res.write('x');
    attempt(note, () => res.addTrailers({ 'a b': '1' }));
    attempt(note, () => res.addTrailers({ a: 'x\r\n' }));
    res.end();
  },
};

const misuse = {
  'end twice': (res, note) => {
    res.end('x', told(note, 'first'));
    attempt(note, () => res.end(told(note, 'second')));
    attempt(note, () => res.end());
  },
  'write after end': (res, note) => {
    res.on('error', (error) => note(`error ${error.code}`));
    res.end('x');
    attempt(note, () => res.write('y', told(note, 'write')));
  },
  'head twice': (res, note) => {
    res.writeHead(200);
    attempt(note, () => res.writeHead(201));
    res.end('x');
  },
  'fields after the head': (res, note) => {
    res.write('x');
    attempt(note, () => res.setHeader('a', 'b'));
    attempt(note, () => res.removeHeader('a'));
    attempt(note, () => res.appendHeader('a', 'b'));
    attempt(note, () => res.writeHead(200));
    attempt(note, () => res.writeContinue());
    attempt(note, () => res.flushHeaders());
    res.end();
  },
  'fields after the end': (res, note) => {
    res.end('x');
    attempt(note, () => res.setHeader('a', 'b'));
    attempt(note, () => res.getHeader('a'));
    attempt(note, () => res.addTrailers({ a: 'b' }));
    attempt(note, () => res.cork());
    attempt(note, () => res.uncork());
  },
  'pipe from it': (res, note) => {
    res.on('error', (error) => note(`error ${error.code}`));
    attempt(note, () => res.pipe(process.stdout));
    res.end('x');
  },
  destroyed: (res, note) => {
    res.on('error', (error) => note(`error ${error.code ?? error.message}`));
    res.destroy(new Error('mine'));
    attempt(note, () => res.write('x', told(note, 'write')));
    attempt(note, () => res.end('x', told(note, 'end')));
  },
  'destroyed after a part': (res) => {
    res.write('x');
    res.destroy();
  },
  'destroyed after the end': (res) => {
    res.end('x');
    res.destroy();
  },
  'socket destroyed after the end': (res) => {
    const { socket } = res;
    res.end('x');
    socket?.destroy();
  },
  'socket ended after the end': (res) => {
    const { socket } = res;
    res.end('x');
    socket?.end();
  },
  'raw bytes': (res) => {
    if (!res.socket) return void res.end('queued');
    res.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nraw', () => res.socket.destroy());
  },
};

const looks = {
  'state before and after': (res, note) => {
    const look = () => {
      const { headersSent, finished, writableEnded, writableFinished, writable, destroyed } = res;
      const { writableLength, writableHighWaterMark, writableObjectMode, closed, errored } = res;
      note(JSON.stringify({ headersSent, finished, writableEnded, writableFinished, writable }));
      note(
        JSON.stringify({ destroyed, writableHighWaterMark, writableObjectMode, closed, errored }),
      );
      note(
        JSON.stringify([res.socket !== null, res.connection === res.socket, writableLength > 0]),
      );
    };
    look();
    res.write('x');
    look();
    res.end('y');
    look();
    res.on('finish', look);
    res.on('close', look);
  },
  'the head as it was sent': (res, note) => {
    res.writeHead(200, { 'X-A': 'a' });
    note(res._header?.replace(/Date: .*/, 'Date: *'));
    res.end('x');
    note(`${res._headerSent} ${res._contentLength} ${res._hasBody} ${res.chunkedEncoding}`);
  },
  'own fields': (res, note) => {
    note(Object.keys(res).join());
    // An accessor of the prototype on the stack.
    note(
      Object.keys(res.req)
        .filter((key) => key !== 'rawHeaders')
        .join(),
    );
    res.end('x');
  },
  'the socket': (res, note) => {
    const { req } = res;
    const { socket } = req;
    note(JSON.stringify([socket === req.connection, socket === res.socket || res.socket === null]));
    note(JSON.stringify([socket.writable, socket.readable, socket.destroyed, socket.encrypted]));
    note(JSON.stringify([socket.remoteFamily, socket.localPort === socket.server.address().port]));
    note(JSON.stringify([socket.readyState, socket.connecting]));
    res.end('x');
    note(JSON.stringify([socket.writable, socket.destroyed, req.socket === socket]));
  },
  'overridden methods': (res, note) => {
    const { writeHead, write, end } = res;
    res.writeHead = function (...args) {
      note(`writeHead ${args[0]}`);
      return writeHead.apply(this, args);
    };
    res.write = function (...args) {
      note(`write ${args[0]}`);
      return write.apply(this, args);
    };
    res.end = function (...args) {
      note(`end ${args[0]}`);
      return end.apply(this, args);
    };
    res.write('x');
    res.end('y');
  },
  'an overridden head': (res, note) => {
    const { writeHead } = res;
    res.writeHead = function (...args) {
      note('writeHead');
      this.setHeader('X-Late', '1');
      return writeHead.apply(this, args);
    };
    res.end('x');
  },
  'another prototype': (res) => {
    const prototype = Object.create(Object.getPrototypeOf(res), {
      send: { value: (body) => res.end(body) },
    });
    Object.setPrototypeOf(res, prototype);
    Object.setPrototypeOf(res.req, Object.create(Object.getPrototypeOf(res.req)));
    res.send(`${res.req.url} ${res.req.headers.host}`);
  },
  'a timeout set and cleared': (res, note) => {
    attempt(note, () => res.setTimeout(10_000));
    attempt(note, () => res.setTimeout(0));
    res.end('x');
  },
  'an end in the finish of another': (res, note) => {
    res.on('prefinish', () => note(`prefinish ${res.writableFinished}`));
    res.on('finish', () => note(`finish ${res.writableFinished} ${res.socket === null}`));
    res.on('close', () => note(`close ${res.destroyed} ${res.socket === null}`));
    res.end('x', () => note(`callback ${res.writableFinished} ${res.socket === null}`));
  },
};

const groups = { ends, writes, heads, early, misuse, looks };

/** Name and action. */
export const responses = Object.entries(groups).flatMap(([group, actions]) =>
  Object.entries(actions).map(([name, action]) => [`${group}: ${name}`, action]),
);

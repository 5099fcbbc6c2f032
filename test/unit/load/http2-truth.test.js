// The truth server of HTTP/2 itself: its codecs against RFC 7541 and node:http2, and that it sees each rule that a client breaks.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { answer } from '../../fixtures/truth/http2/answers.js';
import { FrameReader } from '../../fixtures/truth/http2/frame-reader.js';
import {
  continuation,
  data,
  frame,
  goaway,
  headers,
  ping,
  rstStream,
  settings,
  settingsAck,
  slices,
  TYPE,
  windowUpdate,
} from '../../fixtures/truth/http2/frames.js';
import { HpackDecoder } from '../../fixtures/truth/http2/hpack-decoder.js';
import { HpackEncoder } from '../../fixtures/truth/http2/hpack-encoder.js';
import { decodeHuffman, encodeHuffman } from '../../fixtures/truth/http2/huffman.js';
import { ConnectionRecord } from '../../fixtures/truth/http2/record.js';
import { http2Server } from '../../fixtures/truth/http2/server.js';

const REQUEST = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];

describe('HPACK of the truth server', () => {
  test('decodes the requests of RFC 7541, C.4', () => {
    const decoder = new HpackDecoder();
    const decode = (hex) => decoder.decode(Buffer.from(hex, 'hex'));
    assert.deepEqual(decode('828684418cf1e3c2e5f23a6ba0ab90f4ff'), REQUEST);
    assert.deepEqual(decode('828684be5886a8eb10649cbf'), [
      ...REQUEST,
      ['cache-control', 'no-cache'],
    ]);
    assert.deepEqual(decode('828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf'), [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ]);
  });

  test('decodes what it encodes, with each option', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1');
    assert.equal(decodeHuffman(encodeHuffman(bytes)), bytes);
    for (const literals of ['plain', 'never', 'added']) {
      for (const huffman of [false, true]) {
        const [encoder, decoder] = [new HpackEncoder({ literals, huffman }), new HpackDecoder()];
        for (let n = 0; n < 200; n++) {
          if (n === 100) encoder.resize(100);
          const fields = [...REQUEST, ['x-n', `${n % 13}`], ['x-long', 'y'.repeat(n * 3)]];
          assert.deepEqual(decoder.decode(encoder.encode(fields)), fields);
        }
      }
    }
  });

  test('refuses what a decoder must refuse', () => {
    for (const hex of [
      '80',
      'be',
      'ffffffffffff7f',
      '400a61',
      '4084ffffffff00',
      '408118',
      '8220',
      '7f',
    ]) {
      assert.throws(() => new HpackDecoder().decode(Buffer.from(hex, 'hex')), hex);
    }
  });

  test('understands node:http2, and is understood', async (t) => {
    const server = await http2Server(t, (request, { encoder }) => ({
      parts: [
        () => {
          if (request.position === 20) encoder.resize(60);
          const headers = { 'x-path': request.target, 'x-all': request.header('x-all') ?? '' };
          const trailers = { 'x-trailer': `${request.position % 3}` };
          return slices(
            answer(request, { encoder, headers, trailers, fragment: 30, padding: 3 }),
            5,
          );
        },
      ],
    }));
    const session = http2.connect(server.url);
    t.after(() => session.destroy());
    const all = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join('');
    for (let n = 0; n < 40; n++) {
      const stream = session.request({
        ':path': `/${n % 7}`,
        'x-all': all.slice(n),
        ':method': 'POST',
      });
      stream.end('body');
      const [head] = await once(stream, 'response');
      assert.equal(head['x-path'], `/${n % 7}`);
      assert.equal(head['x-all'], all.slice(n));
      assert.equal(await text(stream), 'ok');
      assert.equal(server.requests[n].body.toString(), 'body');
    }
    assert.deepEqual(server.connections[0].violations, []);
  });
});

describe('the record of a connection names what a client does wrong', () => {
  const encoder = new HpackEncoder();
  const request = (id, options = { ends: true }, fields = REQUEST) =>
    headers(id, encoder.encode(fields), options);

  /** What is wrong with these frames of a client, behind its SETTINGS. A list is what the server sends. */
  function violations(...parts) {
    const record = new ConnectionRecord();
    const readers = { receive: new FrameReader(), send: new FrameReader() };
    const pass = (direction, bytes) => {
      for (const it of readers[direction].push(bytes)) record[direction](it, 0);
    };
    pass('receive', settings());
    for (const part of parts) {
      if (Array.isArray(part)) for (const bytes of part) pass('send', bytes);
      else pass('receive', part);
    }
    return record.violations;
  }

  const limit = (values) => [settings(values)];
  const good = {
    'a request in fragments': [request(1, { ends: true, fragment: 1 })],
    'a request with a body within the windows': [
      request(1, { ends: false }),
      data(1, 'x'.repeat(16_384)),
      data(1, '', { ends: true }),
    ],
    'as many streams as are allowed': [
      limit({ MAX_CONCURRENT_STREAMS: 1 }),
      settingsAck(),
      request(1),
      [headers(1, encoder.encode([[':status', '200']]), { ends: true })],
      request(3),
    ],
    'more streams before the acknowledgement': [
      limit({ MAX_CONCURRENT_STREAMS: 1 }),
      request(1),
      request(3),
      settingsAck(),
    ],
    'frames on a stream that the server has reset': [
      request(1, { ends: false }),
      [rstStream(1, 'CANCEL')],
      data(1, 'x'),
      rstStream(1, 'CANCEL'),
    ],
    'a stream that was opened before GOAWAY was read': [[goaway(0), ping('12345678')], request(1)],
  };
  for (const [name, parts] of Object.entries(good)) {
    test(`and nothing else: ${name}`, () => assert.deepEqual(violations(...parts), []));
  }

  const bad = {
    'more streams than are allowed': [
      limit({ MAX_CONCURRENT_STREAMS: 1 }),
      settingsAck(),
      request(1),
      request(3),
    ],
    'DATA over the window of the stream': [
      limit({ INITIAL_WINDOW_SIZE: 10 }),
      settingsAck(),
      request(1, { ends: false }),
      data(1, 'x'.repeat(11)),
    ],
    'DATA over a window that became negative': [
      request(1, { ends: false }),
      data(1, 'x'.repeat(100)),
      limit({ INITIAL_WINDOW_SIZE: 10 }),
      settingsAck(),
      [windowUpdate(1, 90)],
      data(1, 'x'),
    ],
    'DATA over the connection window': [
      limit({ INITIAL_WINDOW_SIZE: 100_000 }),
      settingsAck(),
      request(1, { ends: false }),
      ...Array(4).fill(data(1, 'x'.repeat(16_384))),
    ],
    'a frame that is too large': [request(1, { ends: false }), data(1, 'x'.repeat(16_385))],
    'a number that does not go up': [request(3), request(1)],
    'an even number': [request(2)],
    'DATA behind the end': [request(1), data(1, 'x')],
    'DATA behind RST_STREAM': [request(1, { ends: false }), rstStream(1, 'CANCEL'), data(1, 'x')],
    'RST_STREAM twice': [request(1), rstStream(1, 'CANCEL'), rstStream(1, 'CANCEL')],
    'WINDOW_UPDATE of 0': [request(1), windowUpdate(1, 0)],
    'WINDOW_UPDATE on an idle stream': [windowUpdate(1, 1)],
    'a window that is too large': [windowUpdate(0, 2 ** 31 - 1)],
    'a header block that is interrupted': [
      frame(TYPE.HEADERS, { stream: 1, payload: encoder.encode(REQUEST) }),
      ping('12345678'),
      continuation(1, Buffer.alloc(0), true),
    ],
    'a stream behind a GOAWAY that was read': [
      [goaway(0), ping('12345678')],
      ping('12345678', { ack: true }),
      request(1),
    ],
    'an acknowledgement of no SETTINGS': [settingsAck()],
    'an acknowledgement of another PING': [[ping('12345678')], ping('87654321', { ack: true })],
    'ENABLE_PUSH 2': [settings({ ENABLE_PUSH: 2 })],
    PUSH_PROMISE: [frame(TYPE.PUSH_PROMISE, { stream: 1 })],
    'a field of HTTP/1.1': [request(1, { ends: true }, [...REQUEST, ['connection', 'close']])],
    'a name in upper case': [request(1, { ends: true }, [...REQUEST, ['X-A', 'b']])],
    'no :path': [request(1, { ends: true }, REQUEST.toSpliced(2, 1))],
    'a pseudo-field behind others': [request(1, { ends: true }, [['a', 'b'], ...REQUEST])],
    'another content-length': [
      request(1, { ends: false }, [...REQUEST, ['content-length', '5']]),
      data(1, 'four', { ends: true }),
    ],
  };
  for (const [name, parts] of Object.entries(bad)) {
    test(`once: ${name}`, () => assert.equal(violations(...parts).length, 1));
  }

  test('and throws where a table is larger than allowed, or its size is not named', () => {
    const table = limit({ HEADER_TABLE_SIZE: 0 });
    assert.throws(() => violations(table, settingsAck(), request(1)), /table size/);
    const sized = new HpackEncoder();
    sized.resize(100);
    const block = headers(1, sized.encode(REQUEST), { ends: true });
    assert.throws(() => violations(table, settingsAck(), block), /table of 100/);
  });
});

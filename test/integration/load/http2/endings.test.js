// How a stream ends without a response, each way provoked: it ends once, with its kind, and spares what need not end with it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { millraceJson } from '../../../fixtures/truth/cli.js';
import {
  clientResets,
  countStreams,
  kinds,
  loadStreams,
} from '../../../fixtures/truth/http2/accounting.js';
import { answer, head } from '../../../fixtures/truth/http2/answers.js';
import {
  data,
  ERRORS,
  goaway,
  ping,
  rstStream,
  settings,
} from '../../../fixtures/truth/http2/frames.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };

const run = (server, options) =>
  loadStreams(server, { connections: 2, pipelining: 3, requests: 100, ...options });

/** Answers, except every fifth request of a connection, with which it does as `odd` says. */
function everyFifth(odd) {
  return (request, connection) =>
    request.position % 5 === 4 ? odd(request, connection) : answer(request);
}

function exampleOf({ errors }, kind) {
  return errors.find((error) => error.kind === kind)?.example;
}

describe('a stream that the server resets', TIMEOUT, () => {
  for (const error of [...ERRORS, 0xabc]) {
    test(`is counted with the error ${error}, and its connection stays`, async (t) => {
      const server = await http2Server(
        t,
        everyFifth(({ id }) => rstStream(id, error)),
      );
      const result = await run(server);
      const reset = countStreams(server, (stream) => stream.reset?.by === 'server');
      const kind = error === 'REFUSED_STREAM' ? 'refused-stream' : 'stream-reset';
      assert.deepEqual(kinds(result), { [kind]: reset });
      assert.ok(reset >= 18, `${reset}`);
      assert.match(exampleOf(result, kind), error === 0xabc ? /abc|2748/ : new RegExp(`${error}`));
      assert.equal(result.requests.ok, 100 - reset);
      assert.equal(result.connections.opened, 2);
      assert.deepEqual(clientResets(server), {});
    });
  }

  test('is counted once if a part of its response has come', async (t) => {
    const server = await http2Server(
      t,
      everyFifth((request) =>
        Buffer.concat([
          head(request, { status: 206 }),
          data(request.id, 'half'),
          rstStream(request.id, 'INTERNAL_ERROR'),
        ]),
      ),
    );
    const result = await run(server);
    const reset = countStreams(server, (stream) => stream.reset !== null);
    assert.deepEqual(kinds(result), { 'stream-reset': reset });
    assert.deepEqual(result.statusCodes, { 200: 100 - reset });
    assert.match(exampleOf(result, 'stream-reset'), /206.*INTERNAL_ERROR/);
  });

  test('is counted as answered if its response has come to its end', async (t) => {
    const server = await http2Server(t, (request) =>
      Buffer.concat([answer(request), rstStream(request.id, 'NO_ERROR')]),
    );
    assert.equal((await run(server)).requests.ok, 100);
  });

  test('fails a run by --fail-on, and the command says which error it was', async (t) => {
    const server = await http2Server(t, ({ id }) => rstStream(id, 'ENHANCE_YOUR_CALM'));
    const { code, result } = await millraceJson(['--h2c', '-n', '20', '-c', '1', server.url]);
    assert.equal(code, 3, 'no request succeeded');
    assert.deepEqual(kinds(result), { 'stream-reset': 20 });
    assert.match(JSON.stringify(result.warnings), /ENHANCE_YOUR_CALM/);
  });
});

describe('a server that announces its end', TIMEOUT, () => {
  /** Streams of a connection above the last one that its server has announced. */
  const above = (server, lasts) =>
    countStreams(server, ({ connection, id }) => id > (lasts.get(connection) ?? 2 ** 31));

  test('by GOAWAY refuses the streams above the last one and answers those below', async (t) => {
    const lasts = new Map();
    const server = await http2Server(t, (request, connection) => {
      const { position, id } = request;
      if (position === 9) {
        lasts.set(connection.index, id - 2);
        connection.send(goaway(id - 2, 'NO_ERROR', 'bye'));
      }
      if (position < 9) return { after: 20, parts: [answer(request)] };
    });
    const result = await run(server);
    const refused = above(server, lasts);
    assert.ok(refused >= 8, `${refused}`);
    assert.deepEqual(kinds(result), { 'refused-stream': refused });
    assert.equal(result.requests.ok, 100 - refused);
    assert.equal(result.connections.goaway, lasts.size);
    assert.match(exampleOf(result, 'refused-stream'), /GOAWAY/);
    assert.deepEqual(clientResets(server), {});
  });

  test('by GOAWAY with an error gives its name', async (t) => {
    const server = await http2Server(t, (request, connection) => {
      if (request.position < 9) return answer(request);
      if (request.position === 9) connection.send(goaway(request.id - 2, 'ENHANCE_YOUR_CALM'));
    });
    const result = await run(server);
    assert.match(exampleOf(result, 'refused-stream'), /ENHANCE_YOUR_CALM/);
  });

  test('in two steps refuses nothing, and gets no streams after the first', async (t) => {
    const end = async (connection) => {
      // The client acknowledges the PING when it has read the GOAWAY.
      await connection.send(Buffer.concat([goaway(2 ** 31 - 1), ping('graceful')]));
      await connection.until(({ unacknowledged }) => unacknowledged === 0);
      connection.send(goaway(connection.requests.at(-1).id));
    };
    const server = await http2Server(t, (request, connection) => {
      if (request.position === 9) end(connection);
      return { after: 3, parts: [answer(request)] };
    });
    const result = await run(server);
    assert.deepEqual(kinds(result), {});
    assert.equal(result.requests.ok, 100);
    assert.ok(result.connections.goaway >= 7, `${result.connections.goaway}`);
    for (const { requests } of server.connections) {
      assert.ok(requests.length <= 13, `${requests.length} streams on a connection`);
    }
  });

  test('with an error before it has answered anything is loaded again, slowly', async (t) => {
    const server = await http2Server(t, { begin: (it) => it.send(goaway(0, 'ENHANCE_YOUR_CALM')) });
    const { code, stderr, result } = await millraceJson([
      '--h2c',
      '-d',
      '300ms',
      '-c',
      '2',
      server.url,
    ]).catch((error) => ({ code: 3, stderr: error.message, result: null }));
    assert.equal(code, 3);
    const said = result ? JSON.stringify(result.errors) : stderr;
    assert.match(said, /GOAWAY.*ENHANCE_YOUR_CALM/);
    assert.doesNotMatch(said, /may speak no HTTP\/2/);
    assert.ok(server.connections.length < 40, `${server.connections.length} connections`);
  });

  test('and does not answer what it has accepted: the time limit ends it', async (t) => {
    const server = await http2Server(t, (request, connection) => {
      if (request.position === 9) connection.send(goaway(request.id));
      if (request.position < 7) return answer(request);
    });
    const result = await run(server, { requests: 40, timeout: 100 });
    const cancelled = clientResets(server).CANCEL;
    assert.equal(kinds(result).timeout, cancelled);
    assert.equal(result.requests.timeouts, cancelled);
    assert.ok(cancelled >= 9, `${cancelled}`);
  });
});

describe('a stream at its time limit', TIMEOUT, () => {
  const silent = {
    'without a response': () => undefined,
    'after the head': (request) => head(request),
    'within the content': (request) => Buffer.concat([head(request), data(request.id, 'half')]),
    'and is answered later': (request) => ({ after: 150, parts: [answer(request)] }),
  };
  for (const [name, odd] of Object.entries(silent)) {
    test(`is cancelled, and its connection stays: ${name}`, async (t) => {
      const server = await http2Server(t, everyFifth(odd));
      const result = await run(server, { requests: 60, timeout: 100 });
      const { timeouts, ok } = result.requests;
      assert.deepEqual(kinds(result), { timeout: timeouts });
      assert.deepEqual(clientResets(server), { CANCEL: timeouts });
      assert.ok(timeouts >= 10, `${timeouts}`);
      assert.equal(ok, 60 - timeouts);
      assert.equal(result.connections.opened, 2);
    });
  }

  test('is cancelled while its body waits for a window', async (t) => {
    const settings = { INITIAL_WINDOW_SIZE: 10 };
    const server = await http2Server(t, { settings, opensWindows: false });
    const result = await run(server, { requests: 20, timeout: 100, body: 'x'.repeat(1000) });
    assert.deepEqual(kinds(result), { timeout: 20 });
    assert.equal(clientResets(server).CANCEL, 20);
    for (const { bodyLength } of server.requests) assert.equal(bodyLength, 10);
  });
});

describe('a connection that ends', TIMEOUT, () => {
  const whole = (request) => answer(request, { body: 'x'.repeat(50), trailers: { a: 'b' } });
  for (const ending of ['end', 'reset']) {
    test(`ends all its streams once: by ${ending} at each byte of a response`, async (t) => {
      const { length } = whole({ id: 1 });
      let cut = 0;
      const server = await http2Server(t, (request) => {
        if (request.position < 4) return whole(request);
        if (request.position > 4) return undefined;
        cut = (cut + 1) % length;
        return { parts: [whole(request).subarray(0, cut)], ending };
      });
      // Each connection answers four, and loses up to three.
      const result = await run(server, { requests: 7 * length, connections: 8 });
      const { ok, transportErrors } = result.requests;
      assert.equal(ok + transportErrors, 7 * length);
      for (const kind of Object.keys(kinds(result))) assert.match(kind, /^(closed-early|reset)$/);
      const answered = countStreams(server, (stream) => stream.isEndedByServer);
      assert.ok(ok <= answered && (ending === 'reset' || ok === answered), `${ok} of ${answered}`);
    });
  }

  test('by RST loses all its streams with the same kind', async (t) => {
    const server = await http2Server(t, ({ position }, connection) => {
      if (position === 4) connection.finish('reset');
    });
    const result = await run(server, { requests: 10, connections: 1, pipelining: 5 });
    assert.deepEqual(kinds(result), { reset: 10 });
  });

  test('before its SETTINGS, at each byte of them, is a failed connection', async (t) => {
    const whole = settings({ MAX_CONCURRENT_STREAMS: 10 });
    for (let cut = 0; cut < whole.length; cut++) {
      const server = await http2Server(t, {
        settings: null,
        acknowledges: false,
        async begin(connection) {
          await connection.send(whole.subarray(0, cut));
          connection.finish('end');
        },
      });
      await assert.rejects(load({ url: server.url, h2c: true, duration: 300, connections: 1 }), {
        code: 'ERR_MILLRACE_UNREACHABLE',
        message: /closed the connection before its SETTINGS/,
      });
    }
  });
});

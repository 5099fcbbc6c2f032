// What the server's SETTINGS ask for, at first and during a run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { millrace, millraceJson } from '../../../fixtures/truth/cli.js';
import { assertStreams, loadStreams } from '../../../fixtures/truth/http2/accounting.js';
import { answer } from '../../../fixtures/truth/http2/answers.js';
import { ping, settings, slices } from '../../../fixtures/truth/http2/frames.js';
import { delay, ok } from '../../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };

async function run(server, options) {
  const protocol = { connections: 2, pipelining: 10, requests: 200 };
  const result = await loadStreams(server, { ...protocol, ...options });
  for (const { record } of server.connections) assert.equal(record.unacknowledged, 0);
  return result;
}

/** The most streams that a connection had at a time. */
function mostOpen(server) {
  return Math.max(...server.connections.map(({ record }) => record.mostOpen));
}

describe('MAX_CONCURRENT_STREAMS', TIMEOUT, () => {
  for (const most of [1, 2, 9, 10, 100]) {
    test(`of ${most} bounds what is in flight on a connection`, async (t) => {
      const server = await http2Server(t, delay(3, { MAX_CONCURRENT_STREAMS: most }));
      const result = await run(server);
      assert.equal(result.requests.ok, 200);
      assert.equal(mostOpen(server), Math.min(most, 10));
      assert.equal(result.connections.maxConcurrentStreams, most);
    });
  }

  test('bounds an open run too', async (t) => {
    const server = await http2Server(t, delay(10, { MAX_CONCURRENT_STREAMS: 3 }));
    const result = await run(server, { rate: 1000, requests: 200 });
    assert.equal(mostOpen(server), 3);
    assert.equal(result.requests.ok, 200);
    // 200 arrivals in 200 ms, and six served at a time, 10 ms each: the last ones wait longer than 100 ms.
    assert.ok(result.latencyMs.max > 100, `${result.latencyMs.max}`);
    assert.ok(result.serviceTimeMs.p50 < result.latencyMs.p50);
  });

  test('that is lowered during the run binds what is opened later, and raised ones are used', async (t) => {
    const changes = new Map([
      [40, 2],
      [80, 5],
      [100, 0],
    ]);
    const server = await http2Server(t, (request, connection) => {
      const most = changes.get(request.position);
      if (most !== undefined) connection.send(settings({ MAX_CONCURRENT_STREAMS: most }));
      if (most === 0) {
        const again = () => connection.send(settings({ MAX_CONCURRENT_STREAMS: 7 }));
        connection.until(({ openStreams }) => openStreams === 0).then(() => setTimeout(again, 20));
      }
      return { after: 3, parts: [answer(request)] };
    });
    const result = await run(server, { requests: 300 });
    assert.equal(result.requests.ok, 300);
    assert.equal(mostOpen(server), 10);
    assert.equal(result.connections.maxConcurrentStreams, 0);
    for (const { requests } of server.connections) {
      assert.equal(mostInFlight(requests, 10, 40), 10);
      // Those that were open stay, and end.
      assert.equal(mostInFlight(requests, 60, 80), 2);
      assert.equal(mostInFlight(requests, 85, 100), 5);
      if (requests.length > 130) assert.equal(mostInFlight(requests, 120, 130), 7);
    }
  });

  /** How many streams of a connection were open at most while those of these positions arrived. */
  function mostInFlight(requests, from, to) {
    const open = ({ headAt }) =>
      requests.filter((it) => it.headAt <= headAt && it.answeredAt > headAt).length;
    return Math.max(...requests.slice(from, to).map(open));
  }

  test('of 0 that is raised later makes requests wait', async (t) => {
    const server = await http2Server(t, {
      settings: { MAX_CONCURRENT_STREAMS: 0 },
      begin: (connection) => {
        setTimeout(() => connection.send(settings({ MAX_CONCURRENT_STREAMS: 4 })), 100);
      },
      request: ok(),
    });
    const result = await run(server, { rate: 200, requests: 40 });
    assert.equal(result.requests.ok, 40);
    // Of 40 arrivals, 20 wait for 50 ms on average.
    const wait = result.latencyMs.mean - result.serviceTimeMs.mean;
    assert.ok(
      wait > 20,
      `the wait for a stream is in the latency, not in the service time: ${wait}`,
    );
  });

  test('of 0 to the end ends the run with what waited', async (t) => {
    const server = await http2Server(t, { settings: { MAX_CONCURRENT_STREAMS: 0 } });
    const flags = ['--h2c', '-R', '100', '-c', '1', '-d', '300ms', server.url];
    const { code, result } = await millraceJson(flags);
    await server.settled(1);
    assert.equal(code, 3);
    assertStreams(result, server);
    assert.equal(result.requests.sent, 0);
    assert.equal(result.requests.notSent.queuedAtEnd, 30);
  });

  test('that is smaller than asked for is named by the command', async (t) => {
    const server = await http2Server(t, delay(3, { MAX_CONCURRENT_STREAMS: 2 }));
    const flags = ['--h2c', '-n', '100', '-c', '1', '-p', '10', server.url];
    const { code, stdout } = await millrace(flags);
    assert.equal(code, 0);
    assert.match(stdout, /MAX_CONCURRENT_STREAMS|concurrent streams/i);
  });
});

describe('HEADER_TABLE_SIZE', TIMEOUT, () => {
  const headers = { 'x-a': 'b'.repeat(20), 'x-c': 'd', 'x-e': 'f'.repeat(100) };

  /** Whether each request had all its fields. */
  function assertHeaders(server) {
    for (const request of server.requests) {
      for (const [name, value] of Object.entries(headers))
        assert.equal(request.header(name), value);
    }
  }

  for (const size of [0, 1, 60, 4096, 2 ** 32 - 1]) {
    test(`of ${size} is kept to`, async (t) => {
      const settings = { HEADER_TABLE_SIZE: size };
      const server = await http2Server(t, { settings, request: ok() });
      await run(server, { headers });
      assertHeaders(server);
      const lengths = server.connections[0].requests.map(({ blockLength }) => blockLength);
      // Once all fields are in the table a request is a few bytes.
      if (size >= 4096) assert.ok(lengths.at(-1) < 16, `${lengths.at(-1)} bytes`);
      else assert.ok(lengths.at(-1) > 50);
    });
  }

  test('that changes during the run is kept to from its acknowledgement on', async (t) => {
    const sizes = [0, 100, 4096, 65_536, 50, 200, 4096];
    const server = await http2Server(t, (request, connection) => {
      const { position } = request;
      const size = sizes[Math.floor(position / 10) % sizes.length];
      if (position % 10 === 5) connection.send(settings({ HEADER_TABLE_SIZE: size }));
      // Smaller for a moment: the next block names both.
      if (position % 20 === 5) {
        const both = [settings({ HEADER_TABLE_SIZE: 10 }), settings({ HEADER_TABLE_SIZE: size })];
        connection.send(Buffer.concat(both));
      }
      return answer(request);
    });
    await run(server, { headers, requests: 500, pipelining: 3 });
    assertHeaders(server);
  });
});

test('MAX_FRAME_SIZE that changes during the run is kept to', TIMEOUT, async (t) => {
  const server = await http2Server(t, {
    settings: { MAX_FRAME_SIZE: 60_000, INITIAL_WINDOW_SIZE: 2 ** 24 },
    request(request, connection) {
      const size = request.position % 2 === 0 ? 16_384 : 50_000;
      connection.send(settings({ MAX_FRAME_SIZE: size }));
      return answer(request);
    },
  });
  await run(server, { requests: 30, body: 'x'.repeat(60_000) });
  for (const { bodyLength } of server.requests) assert.equal(bodyLength, 60_000);
});

test('a head of 40 kB goes out in frames of the allowed size', TIMEOUT, async (t) => {
  const server = await http2Server(t, ok());
  const names = Array.from({ length: 400 }, (_, n) => [`x-${n}`, '~'.repeat(90)]);
  const headers = Object.fromEntries(names);
  await run(server, { requests: 20, headers });
  for (const { fields } of server.requests) assert.ok(fields.length > 400, `${fields.length}`);
});

test(
  'settings that nobody knows, and a limit of heads that is too small, change nothing',
  TIMEOUT,
  async (t) => {
    const values = { 153: 5, 65535: 2 ** 32 - 1, ENABLE_PUSH: 0, MAX_HEADER_LIST_SIZE: 10 };
    const server = await http2Server(t, { settings: values, request: ok() });
    assert.equal((await run(server)).requests.ok, 200);
  },
);

test(
  'the client refuses push, offers its window, and acknowledges each PING',
  TIMEOUT,
  async (t) => {
    const server = await http2Server(t, (request, connection) => {
      const numbered = Buffer.alloc(8);
      numbered.writeUInt32BE(request.index, 4);
      connection.send(ping(numbered));
      return { after: 2, parts: [answer(request)] };
    });
    await run(server, { requests: 50 });
    for (const { record } of server.connections) {
      assert.equal(record.clientSettings.ENABLE_PUSH, 0);
      assert.equal(record.clientSettings.INITIAL_WINDOW_SIZE, 2 ** 31 - 1);
    }
  },
);

describe('SETTINGS of the server', TIMEOUT, () => {
  test('are waited for before the first request', async (t) => {
    const server = await http2Server(t, {
      settings: null,
      acknowledges: false,
      async begin(connection) {
        await connection.until(({ clientSettings }) => clientSettings.ENABLE_PUSH === 0);
        setTimeout(() => connection.send(slices(settings({ MAX_CONCURRENT_STREAMS: 1 }), 1)), 50);
      },
      request: ok(),
    });
    const result = await run(server, { requests: 20 });
    assert.equal(result.requests.ok, 20);
    assert.equal(mostOpen(server), 1);
  });

  test('that never come end the run within the time limit of a connect', async (t) => {
    const server = await http2Server(t, { settings: null, acknowledges: false });
    const flags = ['--h2c', '-c', '2', '-d', '500ms', '--connect-timeout', '100ms', server.url];
    const { code, stderr } = await millrace(flags);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*no SETTINGS frame within 100ms.*\n$/);
    assert.equal(server.requests.length, 0);
  });

  const refused = /** @type {[string, Buffer, RegExp][]} */ ([
    ['that are not the first frame', ping('12345678'), /SETTINGS/],
    ['that are invalid', settings({ MAX_FRAME_SIZE: 1 }), /FRAME_SIZE/],
    ['that enable push', settings({ ENABLE_PUSH: 1 }), /push/i],
  ]);
  for (const [name, bytes, reason] of refused) {
    test(`${name} end the run with the reason`, async (t) => {
      const begin = (connection) => void connection.send(bytes);
      const server = await http2Server(t, { settings: null, acknowledges: false, begin });
      await assert.rejects(load({ url: server.url, h2c: true, duration: 300 }), ({ message }) => {
        assert.match(message, reason);
        assert.doesNotMatch(message, /use --h2c/);
        return true;
      });
    });
  }

  test('that are never acknowledged change nothing', async (t) => {
    const server = await http2Server(t, { acknowledges: false, request: ok() });
    assert.equal((await run(server)).requests.ok, 200);
  });
});

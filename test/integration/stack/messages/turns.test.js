// Responses of a turn leave together; nobody waits long for others' handlers, and a process leaves nothing behind.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import http from '#internal/http/index.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';
import { answer, busy, SameTurn } from '../../../fixtures/stack/messages/same-turn.js';

const LEAVING = fileURLToPath(
  new URL('../../../fixtures/stack/messages/exit-while-answering.js', import.meta.url),
);

for (const [when, later] of Object.entries({
  'answers at once': answer,
  'answers later': (r) => setImmediate(answer, r),
})) {
  test(`a response waits for at most one slow handler, ${when}`, async () => {
    let outcome;
    const turn = await SameTurn.start([
      answer,
      (response) => {
        busy(1);
        later(response);
      },
      (response, whether) => {
        outcome = whether(0);
        answer(response);
      },
    ]);
    await turn.run();
    assert.notEqual(outcome, 'timed-out');
  });
}

test('no response waits for all requests of one handler', async () => {
  const held = [];
  let outcome;
  const hold = (response) => held.push(response);
  const turn = await SameTurn.start([
    hold,
    hold,
    hold,
    (response, whether) => {
      for (const other of held) {
        answer(other);
        busy(1);
      }
      outcome = whether(0);
      answer(response);
    },
  ]);
  await turn.run();
  assert.notEqual(outcome, 'timed-out');
});

test("'finish' is emitted when the response has been sent, also for a listener added after the end", async () => {
  let outcome;
  const turn = await SameTurn.start([
    (response, whether) => {
      answer(response);
      response.on('finish', () => {
        outcome = whether(0);
      });
    },
    answer,
  ]);
  await turn.run();
  assert.notEqual(outcome, 'timed-out');
});

test('a response that was ready in time is not late because another handler blocks the loop', async () => {
  const slow = (response) => {
    busy(500);
    answer(response);
  };
  const turn = await SameTurn.start([answer, slow], { limits: { responseTimeout: 100 } });
  await turn.run();
  assert.equal(turn.flags[turn.order[0]], 200);
});

test('a response that is ready is not in flight while another handler blocks the loop', async () => {
  const slow = (response) => {
    busy(500);
    answer(response);
  };
  const limits = { maxRequestsInFlight: 2 };
  const turn = await SameTurn.start([answer, slow, answer], { limits, late: true });
  await turn.run();
  // The one that came meanwhile; by the second thread, it would be refused.
  assert.equal(turn.flags[2], 200);
});

test('bytes that were sent no longer count as waiting', async () => {
  const part = Buffer.alloc(10 * 1024);
  const more = [];
  const server = http.createServer(async (_request, response) => {
    response.writeHead(200, { 'Content-Length': 20 * part.length });
    for (let times = 0; times < 20; times++) {
      more.push(response.write(part));
      await new Promise(setImmediate);
    }
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const socket = await ask(server.address().port, '');
  for await (const chunk of socket) {
    if (socket.bytesRead >= 20 * part.length && chunk) break;
  }
  assert.deepEqual([...new Set(more)], [true]);
});

test('a connection that is closed in the turn of its response has received it', async () => {
  let closed;
  const turn = await SameTurn.start([
    (response) => {
      closed = once(response.socket, 'close');
      answer(response);
    },
    (response) => {
      response.req.socket.server.closeIdleConnections();
      answer(response);
    },
  ]);
  await turn.run();
  await closed;
});

test('written bytes count before they are sent', async () => {
  let socket;
  const counts = [];
  const turn = await SameTurn.start([
    (response) => {
      ({ socket } = response);
      answer(response);
    },
    (response) => {
      counts.push(socket.bytesWritten);
      answer(response);
    },
  ]);
  await turn.run();
  assert.ok(counts[0] > 0);
  assert.equal(socket.bytesWritten, counts[0]);
});

// The last of them, as nothing waits for a while afterwards.
test('after a handler that blocks the loop, no response waits for another handler', async () => {
  let blocks;
  let outcome;
  const turn = await SameTurn.start([
    answer,
    (response, whether) => {
      if (blocks) busy(20);
      else outcome = whether(0);
      answer(response);
    },
  ]);
  // The process may be kept from its core between the two for longer than nothing waits, and turns may have been two.
  for (let times = 0; times < 3 && (outcome === undefined || outcome === 'timed-out'); times++) {
    blocks = true;
    await turn.run();
    blocks = false;
    await turn.run();
  }
  assert.notEqual(outcome, 'timed-out');
});

async function ask(port, path) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await new Promise((resolve) => {
    socket.write(`GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`, resolve);
  });
  return socket;
}

/** Up to the connection's end, however that comes. */
async function textOf(socket) {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  return text;
}

async function leaving(execArgv) {
  const stdio = ['pipe', 'ignore', 'ignore', 'ipc'];
  const child = fork(LEAVING, { execArgv, stdio, env: { ...process.env, NODE_OPTIONS: '' } });
  const [port] = await once(child, 'message');
  return { child, port };
}

for (const [name, execArgv] of Object.entries({ node: [], stack: ['--import', REGISTER] })) {
  for (const way of ['exit', 'tick', 'microtask', 'finish', 'listener', 'throw', 'abort', 'kill']) {
    test(`finished responses are sent before the process ends by ${way}, ${name}`, async () => {
      const { port } = await leaving(execArgv);
      assert.match(await textOf(await ask(port, way)), /bye/);
    });
  }

  test(`finished responses are sent before the handler of another request ends the process, ${name}`, async () => {
    const { child, port } = await leaving(execArgv);
    await ask(port, 'block');
    const answered = await ask(port, 'answered');
    await ask(port, 'leave');
    child.stdin.write('x');
    assert.match(await textOf(answered), /bye/);
  });
}

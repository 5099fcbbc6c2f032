// What becomes of requests that are piped: run by itself, it prints what was noted of each scenario as JSON.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';

const EVENTS = ['pipe', 'unpipe', 'drain', 'finish', 'close', 'error'];
const SOURCE_EVENTS = ['pause', 'resume', 'end', 'aborted', 'close', 'error'];
const MEGABYTES = 3;

function watch(req, res, note) {
  for (const name of EVENTS) res.on(name, (it) => note(`response ${name}${it?.code ?? ''}`));
  for (const name of SOURCE_EVENTS) req.on(name, (it) => note(`request ${name}${it?.code ?? ''}`));
}

const state = (req) => `${req._readableState.pipes.length} pipes, flowing ${req.readableFlowing}`;

/** `answer`: the handler; `body`: pieces of it, each sent when the one before was seen; `slow`: nothing is read at first; `text`: whether what the client got is compared. */
export const scenarios = {
  plain: { answer: (req, res) => req.pipe(res) },
  watched: {
    answer(req, res, note) {
      watch(req, res, note);
      note(req.pipe(res) === res);
    },
  },
  'watched on one side': {
    answer(req, res, note) {
      for (const name of SOURCE_EVENTS) req.on(name, () => note(name));
      req.pipe(res);
    },
    body: ['one', 'two'],
  },
  'watched later': {
    answer(req, res, note) {
      req.pipe(res);
      watch(req, res, note);
    },
  },
  'in pieces': { answer: watched((req, res) => req.pipe(res)), body: ['one', 'two', 'three'] },
  empty: { answer: watched((req, res) => req.pipe(res)), body: [] },
  'a head before': {
    answer: watched((req, res) => {
      res.writeHead(201, { 'content-length': '5' });
      req.pipe(res);
    }),
  },
  'in a later turn': { answer: watched((req, res) => setImmediate(() => req.pipe(res))) },
  'after its end': {
    answer: watched((req, res) => req.resume().on('end', () => setImmediate(() => req.pipe(res)))),
  },
  'paused, then piped': {
    answer: watched((req, res) => {
      req.pause();
      setImmediate(() => req.pipe(res));
    }),
    body: ['one', 'two'],
  },
  'unpiped in the midst': {
    answer(req, res, note) {
      req.pipe(res);
      req.once('data', () => {
        req.unpipe(res);
        note(state(req));
        req.on('data', (chunk) => note(`data ${chunk}`));
        req.on('end', () => res.end('own'));
        req.resume();
      });
    },
    body: ['one', 'two'],
  },
  'unpiped and piped again': {
    answer(req, res, note) {
      req.pipe(res);
      req.unpipe(res);
      note(state(req));
      req.pipe(res);
      note(state(req));
      res.on('finish', () => note(state(req)));
    },
    body: ['one', 'two'],
  },
  'unpiped, then read': {
    answer(req, res, note) {
      req.pipe(res);
      req.unpipe(res);
      req.once('readable', async () => {
        let text = '';
        for await (const chunk of req) text += chunk;
        note(text);
        res.end('read');
      });
    },
    body: ['one', 'two'],
  },
  'unpiped while it is full': {
    answer(req, res, note) {
      let bytes = 0;
      req.on('data', (chunk) => {
        bytes += chunk.length;
        if (res.writableNeedDrain && req._readableState.pipes.length > 0) req.unpipe(res);
      });
      req.on('end', () => {
        note(bytes);
        res.end();
      });
      req.pipe(res);
    },
    body: Array.from({ length: MEGABYTES }, () => 'x'.repeat(1e6)),
    slow: true,
    text: false,
  },
  'into two, of which one is full': {
    answer(req, res, note) {
      // Never read: no more goes to either than it takes.
      const other = new PassThrough();
      req.pipe(res);
      req.pipe(other);
      other.once('pipe', () => note('never'));
      for (const turn of [1, 2])
        setTimeout(() => note(`${other.writableLength < 3e5}`), turn * 100);
      setTimeout(() => req.socket.destroy(), 300);
    },
    body: Array.from({ length: MEGABYTES }, () => 'x'.repeat(1e6)),
    slow: true,
    text: false,
  },
  'into two': {
    answer(req, res, note) {
      const other = new PassThrough();
      other.on('data', (chunk) => note(`other ${chunk}`)).on('end', () => note('other ends'));
      req.pipe(res);
      req.pipe(other);
      note(state(req));
    },
    body: ['one', 'two'],
  },
  'with other listeners': {
    answer(req, res, note) {
      req.on('data', (chunk) => note(`data ${chunk}`));
      req.pipe(res);
      req.on('end', () => note('end'));
    },
    body: ['one', 'two'],
  },
  'left open': {
    answer(req, res, note) {
      req.pipe(res, { end: false });
      req.on('end', () => {
        note(state(req));
        res.end('last');
      });
    },
  },
  'through a stream': { answer: (req, res) => req.pipe(new PassThrough()).pipe(res) },
  'an answer before the end': {
    answer(req, res, note) {
      watch(req, res, note);
      req.pipe(res);
      req.once('data', () => res.end('enough'));
      res.on('finish', () => note(state(req)));
    },
    body: ['one', 'two'],
  },
  'more than fits': {
    answer(req, res, note) {
      let drains = 0;
      res.on('drain', () => drains++);
      req.pipe(res);
      res.on('finish', () => note(drains > 0));
    },
    body: Array.from({ length: MEGABYTES }, () => 'x'.repeat(1e6)),
    slow: true,
  },
  'into the response of another': {
    answer(req, res, note) {
      if (req.url === '/last') return res.end('last');
      note(typeof req.pipe);
      req.pipe(res);
    },
    after: 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  },
};

function watched(answer) {
  return (req, res, note) => {
    watch(req, res, note);
    answer(req, res);
  };
}

/** What came of a scenario: what was noted, and what the client got, without the date. */
async function run(
  port,
  name,
  { body = ['hello'], slow = false, after = '', text: told = true },
  notes,
) {
  const socket = connect(port, '127.0.0.1');
  // The server may have answered, and ended, before all was sent.
  socket.on('error', () => {});
  const length = body.join('').length;
  const close = after === '' ? 'Connection: close\r\n' : '';
  if (slow) socket.pause();
  socket.write(
    `POST /${encodeURIComponent(name)} HTTP/1.1\r\nHost: a\r\n${close}Content-Length: ${length}\r\n\r\n`,
  );
  for (const piece of body) {
    if (slow) {
      socket.write(piece);
      continue;
    }
    // The server sees one piece before the next is sent.
    await new Promise((resolve) => socket.write(piece, resolve));
    await turns();
  }
  socket.write(after);
  let text = '';
  if (slow) await turns();
  socket.resume().on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await new Promise((resolve) => socket.once('close', resolve));
  await turns();
  // How much of a long body comes at once is the reader's affair.
  const undated = text.replace(/Date: .*\r\n/g, '');
  const [head = '', content = ''] = undated.split('\r\n\r\n', 2);
  const got = content.length < 1000 ? undated.slice(head.length) : count(content);
  return { notes, text: told ? `${head}${got}` : head.slice(0, 12) };
}

function count(text) {
  return `${text.split('x').length - 1} x`;
}

/** As many as it takes for what was sent to be seen on the other end of this process. */
async function turns() {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

if (process.argv[1] === import.meta.filename) {
  let current = null;
  const server = createServer((req, res) => {
    const { answer, note } = current;
    answer(req, res, note);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const found = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    const notes = [];
    current = { ...scenario, note: (what) => notes.push(String(what)) };
    found[name] = await run(server.address().port, name, scenario, notes);
  }
  const native = server.stats?.().requests.native ?? null;
  process.stdout.write(JSON.stringify({ found, native }), () => process.exit());
}

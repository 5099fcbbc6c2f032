// Clients of every kind against one server for a while, every answer compared; afterwards nothing may be left of them.
//
//   node test/stack/soak.js [seconds] [--gc] [flags of the server's node]
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { makeCertificates } from '../tls/certificates.js';
import { REGISTER } from './pair.js';
import { pattern } from './soak-pattern.js';

const SERVER = fileURLToPath(new URL('soak-server.js', import.meta.url));
/** Bytes that the memory after a run may differ by: the heap's size is the collector's choice. */
const HEAP = 4e6;
const RSS = 64e6;

/** Seconds in which the last answers come, and the last connections go. */
const LAST = 30;

const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
const post = (path, framing) => `POST ${path} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`;
const random = (below) => Math.floor(Math.random() * below);

function answer(length, connection = 'keep-alive') {
  const fields = `Keep-Alive: x\r\nContent-Length: ${length}\r\nConnection: ${connection}\r\n`;
  const head = `HTTP/1.1 200 OK\r\n${fields}\r\n`;
  return Buffer.concat([Buffer.from(head), pattern(length)]);
}

function open({ port, ca }) {
  const at = { port, host: '127.0.0.1' };
  const socket = ca ? tls.connect({ ...at, ca, servername: 'localhost' }) : net.connect(at);
  socket.on('error', () => {});
  return socket;
}

/** Takes exactly these bytes. */
async function expect(socket, expected) {
  let at = 0;
  while (at < expected.length) {
    const chunk = socket.read() ?? (await readable(socket));
    if (chunk === null) continue;
    const wanted = expected.subarray(at, at + chunk.length);
    assert.ok(chunk.equals(wanted), `at ${at}: ${chunk.toString('latin1', 0, 200)}`);
    at += chunk.length;
  }
}

async function readable(socket) {
  assert.ok(!socket.closed && !socket.readableEnded, 'closed too early');
  const told = new AbortController();
  const events = ['readable', 'close'].map((event) => once(socket, event, told));
  await Promise.race(events).finally(() => told.abort());
  await Promise.allSettled(events);
  return socket.read();
}

async function ended(socket) {
  if (!socket.closed) await once(socket.resume(), 'close');
}

/** A request by Node's own client; gives the body. */
async function request(address, path, { body, fields, agent = false } = {}) {
  const secure = address.ca && { ca: address.ca, servername: 'localhost' };
  const options = {
    ...secure,
    port: address.port,
    host: '127.0.0.1',
    path,
    agent,
    headers: fields,
  };
  const client = (secure ? https : http).request({ ...options, method: body ? 'POST' : 'GET' });
  for (let at = 0; body && at < body.length; at += 50_000)
    client.write(body.subarray(at, at + 50_000));
  client.end();
  const [response] = await once(client, 'response');
  return Buffer.concat(await response.toArray());
}

const kinds = {
  async 'keep-alive'(address) {
    const socket = open(address);
    for (let n = 0; n < 50; n++) {
      const length = random(2_000);
      socket.write(get(`/${n % 2 ? 'text' : 'later'}/${length}`));
      await expect(socket, answer(length));
    }
    socket.destroy();
  },
  async close(address) {
    const socket = open(address);
    socket.write(get('/text/100', 'Connection: close\r\n'));
    await expect(socket, answer(100, 'close'));
    await ended(socket);
  },
  async pipelining(address) {
    const socket = open(address);
    const lengths = Array.from({ length: 400 }, () => random(500));
    const all = lengths.map((n) => get(`/${['text', 'later', 'parts'][n % 3]}/${n}`)).join('');
    for (let at = 0; at < all.length; at += 3_000) socket.write(all.slice(at, at + 3_000));
    await expect(socket, Buffer.concat(lengths.map((length) => answer(length))));
    socket.destroy();
  },
  async upload(address) {
    const body = pattern(random(1_000_000) + 1);
    const fields = random(2) ? { 'Content-Length': body.length } : {};
    const hash = await request(address, '/hash', { body, fields });
    assert.equal(`${hash}`, createHash('sha1').update(body).digest('hex'));
  },
  async echo(address) {
    const body = pattern(random(300_000) + 1);
    assert.ok(body.equals(await request(address, '/echo', { body })));
  },
  async 'slow reader'(address) {
    const socket = open(address);
    socket.write(get('/text/5000000', 'Connection: close\r\n'));
    await sleep(random(500));
    await expect(socket, answer(5_000_000, 'close'));
    await ended(socket);
  },
  async 'slow sender'(address) {
    const socket = open(address);
    for (const piece of get('/text/3').match(/.{1,8}/gs)) {
      socket.write(piece);
      await new Promise(setImmediate);
    }
    await expect(socket, answer(3));
    socket.destroy();
  },
  async abort(address) {
    const phases = [
      '',
      'GE',
      get('/text/1').slice(0, -2),
      get('/text/5000000'),
      get('/parts/500000'),
      // Fewer than hold back reading: then neither Node nor the stack sees the client go.
      get('/never') + get('/text/9').repeat(random(100)),
      `${post('/echo', 'Content-Length: 100000')}half`,
      `${post('/hash', 'Transfer-Encoding: chunked')}5\r\nhe`,
      `${post('/echo', 'Transfer-Encoding: chunked')}5;a="b"\r\nhe`,
      get('http://a/never'),
    ];
    const socket = open(address);
    const sent = new Promise((resolve) => socket.write(phases[random(phases.length)], resolve));
    if (random(3)) await sent;
    if (random(2)) await sleep(random(20));
    if (random(2) && !address.ca) socket.resetAndDestroy();
    else socket.destroy();
    await ended(socket);
  },
  async 'half-closed upload'(address) {
    const socket = open({ port: address.port });
    if (address.ca) socket.write('no TLS at all');
    else socket.write(`${post('/hash', 'Content-Length: 9')}half`);
    socket.end();
    await ended(socket);
  },
  async upgrade(address) {
    const socket = open(address);
    socket.write(get('/', 'Connection: Upgrade\r\nUpgrade: echo\r\n'));
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n';
    await expect(socket, Buffer.from(head));
    const bytes = pattern(random(200_000));
    socket.write(bytes);
    await expect(socket, bytes);
    if (random(2)) socket.destroy();
    else socket.end();
    await ended(socket);
  },
  async malformed(address) {
    const socket = open(address);
    socket.write(`${get('/text/1').slice(0, -2)}bad line\r\n\r\n`);
    await expect(socket, Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'));
    await ended(socket);
  },
  async 'head that takes too long'(address) {
    const socket = open(address);
    socket.write('GET / HTTP/1.1\r\nHost');
    await expect(socket, Buffer.from('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'));
    await ended(socket);
  },
  async 'idle connection'(address) {
    const socket = open(address);
    socket.write(get('/text/1'));
    await expect(socket, answer(1));
    await ended(socket);
  },
};

/** Each kind of client again and again, a few at once, until the time is over. */
async function load(addresses, seconds, counts) {
  const end = Date.now() + seconds * 1e3;
  const busy = new Map();
  const repeat = async (name, kind, address) => {
    do {
      busy.set(name, kind);
      await kinds[kind](address).catch((cause) => {
        throw new Error(`${name}: ${cause.message}`, { cause });
      });
      counts[kind] = (counts[kind] ?? 0) + 1;
    } while (Date.now() < end);
    busy.delete(name);
  };
  const clients = Object.keys(kinds).flatMap((kind) =>
    addresses.flatMap((address) =>
      [1, 2].map((n) => repeat(`${kind}${address.ca ? ' over TLS' : ''} ${n}`, kind, address)),
    ),
  );
  await within(seconds + LAST, Promise.all(clients), () => `not answered: ${[...busy.keys()]}`);
}

async function within(seconds, promise, what) {
  const over = new AbortController();
  const late = sleep(seconds * 1e3, undefined, over).then(() => {
    throw new Error(what());
  });
  late.catch(() => {});
  return Promise.race([promise, late]).finally(() => over.abort());
}

async function ask(child) {
  child.send('state');
  return (await once(child, 'message'))[0];
}

/** When all connections have gone; those that are idle go by themselves. */
async function settled(child) {
  let state;
  const wait = async () => {
    do state = await ask(child);
    while (state.connections > 0);
    return state;
  };
  return within(LAST, wait(), () => `still there: ${JSON.stringify(state)}`);
}

function compare(first, last) {
  for (const { connections, requests } of last.stats) {
    assert.equal(connections.open, 0, 'open connections');
    assert.equal(requests.inFlight, 0, 'requests in flight');
    assert.ok(connections.native > 0, 'nothing was served natively');
  }
  assert.equal(last.sockets, first.sockets, 'sockets');
  assert.deepEqual(last.resources, first.resources);
  const grown = { heapUsed: last.heapUsed - first.heapUsed, rss: last.rss - first.rss };
  assert.ok(grown.heapUsed < HEAP && grown.rss < RSS, JSON.stringify(grown));
}

/**
 * Runs for `seconds` after a first, shorter round, and once more if memory has grown; compares what is left.
 * `collectEvery`: the server collects garbage in every n-th request; `flags`: of its node.
 */
export async function soak({
  seconds,
  firstSeconds = 3,
  collectEvery = 0,
  flags = [],
  onRound = () => {},
}) {
  const { authority, server } = makeCertificates();
  const execArgv = ['--expose-gc', ...flags, '--import', REGISTER];
  // A connection that waits while the collector runs, or others on this machine, is not to be taken for idle.
  const patience = collectEvery || flags.length ? 4 : 2;
  const settings = JSON.stringify({ ...server, collectEvery, patience });
  const child = fork(SERVER, [settings], { execArgv, env: { ...process.env, NODE_OPTIONS: '' } });
  const died = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the server has ended: ${code ?? signal}`);
  });
  died.catch(() => {});
  try {
    const [[plain, secure]] = await Promise.race([once(child, 'message'), died]);
    const addresses = [{ port: plain }, { port: secure, ca: authority.cert }];
    const counts = {};
    const round = async (length) => {
      await Promise.race([load(addresses, length, counts), died]);
      const state = await Promise.race([settled(child), died]);
      onRound(state, counts);
      return state;
    };
    const rounds = async () => {
      let state;
      for (let left = seconds; left > 0; left -= 60) state = await round(Math.min(left, 60));
      return state;
    };
    const first = await round(firstSeconds);
    let last = await rounds();
    let { rss } = first;
    if (last.rss - rss >= RSS) {
      // More clients at once than ever before need more, once; a leak needs it each time.
      rss = last.rss;
      last = await rounds();
    }
    compare({ ...first, rss }, last);
    return { first, last, counts };
  } finally {
    child.kill('SIGKILL');
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [seconds = '600', ...others] = process.argv.slice(2);
  const flags = others.filter((flag) => flag !== '--gc');
  const collectEvery = others.includes('--gc') ? 10 : 0;
  const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
  const onRound = ({ sockets, resources, heapUsed, rss }, counts) => {
    const clients = Object.values(counts).reduce((sum, n) => sum + n);
    const memory = `heap ${mebibytes(heapUsed)} MiB, RSS ${mebibytes(rss)} MiB`;
    console.log(`${clients} clients: ${sockets} sockets, ${resources.length} resources, ${memory}`);
  };
  const { counts, last } = await soak({
    seconds: Number(seconds),
    firstSeconds: 10,
    collectEvery,
    flags,
    onRound,
  });
  console.log(counts, ...last.stats);
}

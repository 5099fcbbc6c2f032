// What the applications are asked: `put` takes what has come of it, by name.

const MEBIBYTE = 1024 * 1024;
const json = { 'Content-Type': 'application/json' };
const gzip = { 'Accept-Encoding': 'gzip, deflate, br' };
const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

/** An upload as browsers send it: a field and a file. */
function upload(size, names = ['title', 'file']) {
  const boundary = '-----------------boundary';
  const part = (name, rest = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n`;
  const body = Buffer.concat([
    Buffer.from(`${part(names[0])}\r\na title\r\n`),
    Buffer.from(
      `${part(names[1], '; filename="a.bin"')}Content-Type: application/octet-stream\r\n\r\n`,
    ),
    Buffer.alloc(size, 'abcdefghij'),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { body, fields: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } };
}

function headOf(path, { body, fields }) {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n`;
}

/** The paths that all servers but Yoga's and Socket.IO's have. */
async function usual(app, put) {
  for (const path of ['/', '/page', '/stream', '/fail', '/none', '/%zz']) {
    put(`GET ${path}`, await app.ask('GET', path));
    put(`HEAD ${path}`, await app.ask('HEAD', path));
    put(`compressed ${path}`, await app.ask('GET', path, { fields: gzip }));
  }
  for (const method of ['OPTIONS', 'DELETE', 'PUT', 'PATCH'])
    put(method, await app.ask(method, '/echo', { fields: json, body: '{"a":[1,2]}' }));
  put('no JSON', await app.ask('POST', '/echo', { fields: json, body: '{"a":' }));
  put(
    'too much',
    await app.ask('POST', '/echo', { fields: json, body: `"${'x'.repeat(200_000)}"` }),
  );
  for (const size of [10, MEBIBYTE]) await uploads(app, put, '/upload', upload(size));
  put('HTTP/1.0', await app.raw('GET / HTTP/1.0\r\n\r\n'));
  put('without a host', await app.raw('GET / HTTP/1.1\r\n\r\n'));
  put('malformed', await app.raw('GET / HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n'));
  await app.abort(get('/endless'));
  await app.told(/^left/);
}

async function uploads(app, put, path, { body, fields }) {
  put(`upload ${body.length}`, await app.ask('POST', path, { body, fields }));
  const chunked = { ...fields, 'Transfer-Encoding': 'chunked' };
  put(`chunked upload ${body.length}`, await app.ask('POST', path, { body, fields: chunked }));
  const expecting = { ...fields, Expect: '100-continue' };
  put(`expected upload ${body.length}`, await app.ask('POST', path, { body, fields: expecting }));
}

/** Files, in parts and if they have changed. */
async function files(app, put) {
  const whole = await app.ask('GET', '/static/large.txt');
  put('file', whole);
  const etag = whole.fields[whole.fields.findIndex((name) => /^etag$/i.test(name)) + 1];
  for (const fields of [
    { Range: 'bytes=0-99' },
    { Range: 'bytes=-50' },
    { Range: 'bytes=999999999-' },
    { 'If-None-Match': etag },
  ])
    put(JSON.stringify(fields), await app.ask('GET', '/static/large.txt', { fields }));
  put('no file', await app.ask('GET', '/static/none.txt'));
}

/** Messages short and long, and an orderly end. */
async function webSocket(app, put, require) {
  const { WebSocket } = require('ws');
  const socket = new WebSocket(`ws://127.0.0.1:${app.port}/socket`);
  const seen = [];
  const closed = new Promise((resolve) => {
    socket.on('upgrade', ({ rawHeaders }) =>
      seen.push(rawHeaders.filter((text) => !/=$/.test(text))),
    );
    socket.on('message', (data, binary) => {
      seen.push(`${binary} ${data.length > 100 ? data.length : data}`);
      if (seen.length === 4) socket.close(1000, 'bye');
    });
    socket.on('close', (code, reason) => resolve(seen.push(`close ${code} ${reason}`)));
    socket.on('error', ({ message }) => seen.push(message));
  });
  socket.on('open', () => {
    for (const message of ['a', Buffer.from('b'), 'c'.repeat(200_000)]) socket.send(message);
  });
  await closed;
  put('messages', seen);
  await app.told(/^socket closed/);
  const key =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  put('too old', await app.raw(get('/socket', key.replace('13', '7'))));
}

async function express(app, put) {
  // It has begun when it asks for the rest.
  await app.abort(
    headOf('/echo?broken', {
      body: 'x'.repeat(1_000),
      fields: { ...json, Expect: '100-continue' },
    }),
  );
  await app.told(/^error 400 request.aborted/);
  await app.told(/^POST \/echo\?broken /);
  const first = await app.ask('GET', '/count');
  put('a session', first);
  const cookies = first.fields.filter((_, at) => /^set-cookie$/i.test(first.fields[at - 1]));
  const Cookie = cookies.map((cookie) => cookie.split(';')[0]).join('; ');
  put('its second request', await app.ask('GET', '/count', { fields: { Cookie } }));
  await app.abort(get('/file'));
  await app.told(/^sent ECONN/);
  await app.told(/^GET \/file /);
}

async function fastify(app, put) {
  put('trailers', await app.ask('GET', '/trailers'));
  put('broken off', await app.raw(get('/broken')));
  await app.told(/^aborted/);
}

async function nest(app, put) {
  for (const path of ['/items/5', '/items/0', '/items/x', '/file'])
    put(path, await app.ask('GET', path));
}

async function yoga(app, put, require) {
  const { WebSocket } = require('ws');
  const { createClient } = require('graphql-ws');
  const query = (text) => `/graphql?query=${encodeURIComponent(text)}`;
  for (const text of [
    '{ hello(name: "a") }',
    '{ list }',
    '{ fail }',
    '{ nothing }',
    '{ hello',
    'subscription { count(to: 3) }',
  ])
    put(text, await app.ask('GET', query(text)));
  put('the page', await app.ask('GET', '/graphql', { fields: { Accept: 'text/html' } }));
  const body = JSON.stringify({ query: 'mutation { add(a: 1, b: 2) }' });
  put('mutation', await app.ask('POST', '/graphql', { fields: json, body }));
  put('no JSON', await app.ask('POST', '/graphql', { fields: json, body: '{' }));
  await app.abort(get(query('subscription { count(to: 9999) }'), 'Accept: text/event-stream\r\n'));
  await app.told(/^subscription ended$/, 2);
  const client = createClient({
    url: `ws://127.0.0.1:${app.port}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  const results = [];
  for await (const result of client.iterate({ query: 'subscription { count(to: 3) }' }))
    results.push(result);
  await client.dispose();
  put('by WebSocket', results);
}

async function socketIo(app, put, require) {
  const { io } = require('socket.io-client');
  put('beside', await app.ask('GET', '/'));
  put('its client', await app.ask('GET', '/socket.io/socket.io.js', { fields: gzip }));
  put('no transport', await app.ask('GET', '/socket.io/?EIO=4&transport=none'));
  put('no session', await app.ask('GET', '/socket.io/?EIO=4&transport=polling&sid=none'));
  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    const options = { transports, forceNew: true, reconnection: false };
    const [a, b] = [0, 1].map(() => io(`http://127.0.0.1:${app.port}`, options));
    const seen = [];
    const heard = new Promise((resolve) => b.on('said', (text) => resolve(text.length)));
    await Promise.all(
      [a, b].map((socket) => new Promise((resolve) => socket.on('connect', resolve))),
    );
    // Who is upgraded says so before more is sent, or the way of what is sent would be another in each run.
    if (transports.length > 1) await app.told(/^upgraded/, 2);
    for (const text of ['a', 'b'.repeat(50_000)]) seen.push(await a.emitWithAck('say', text));
    seen.push(await heard);
    put(transports.join(), seen);
    const gone = app.lines.filter((line) => line.startsWith('disconnected')).length;
    a.close();
    await app.told(/^disconnected/, gone + 1);
    b.close();
    await app.told(/^disconnected/, gone + 2);
  }
}

/** By application: what it is asked, and what of it is slow. */
export const APPLICATIONS = {
  express: { parts: [usual, files, webSocket, express], slow: '/slow' },
  fastify: { parts: [usual, files, webSocket, fastify], slow: '/slow' },
  nest: { parts: [usual, webSocket, nest], slow: '/slow' },
  hono: { parts: [usual, files, webSocket], slow: '/slow' },
  'graphql-yoga': { parts: [yoga], slow: '/graphql?query=%7Bslow%7D' },
  'socket.io': { parts: [socketIo], slow: '/slow' },
};

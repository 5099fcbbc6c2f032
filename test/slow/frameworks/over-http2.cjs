// Loaded before the tests of a framework: their clients of HTTP/1.1 reach local servers over HTTP/2.
//
//   client (any) -> HTTP/1.1 -> this translator, on Node's own server and client -> h2c -> server of the test, on the stack
//
// Load it before `millrace/register`, with MILLRACE_HTTP2=on. At its end a process says on standard error how many requests went
// over HTTP/2.
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const undici = require('undici');

/** Fields of HTTP/1.1 that say how its connection goes on. */
const OF_CONNECTIONS = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'host'],
]);
const kTarget = Symbol('target');
let requests = 0;

/** Name and value of each field that both protocols have. */
function* shared(raw) {
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at].toLowerCase();
    if (!name.startsWith(':') && !OF_CONNECTIONS.has(name)) yield [name, raw[at + 1]];
  }
}

function collect(raw) {
  const fields = {};
  for (const [name, value] of shared(raw)) {
    if (fields[name] === undefined) fields[name] = value;
    else fields[name] = [fields[name], value].flat();
  }
  return fields;
}

/** Each connection of a client has a session of its own. */
function sessionOf(socket) {
  if (!socket.session || socket.session.closed || socket.session.destroyed) {
    const { host, port } = socket[kTarget];
    socket.session = http2.connect(`http://${net.isIPv6(host) ? `[${host}]` : host}:${port}`, {
      maxSessionMemory: 1000,
    });
    socket.session.unref();
    socket.session.on('error', () => socket.destroy());
    // A server that closes ends its connections.
    socket.session.on('close', () => socket.destroySoon());
    socket.on('close', () => socket.session.destroy());
  }
  return socket.session;
}

function forward(request, response) {
  requests++;
  const { method, url, rawHeaders, socket } = request;
  const hasBody =
    request.headers['content-length'] !== undefined || request.headers['transfer-encoding'];
  const fields = collect(rawHeaders);
  if (fields.te !== 'trailers') delete fields.te;
  let stream;
  try {
    const pseudo = { ':method': method, ':path': url, ':authority': request.headers.host };
    stream = sessionOf(socket).request({ ...fields, ...pseudo }, { endStream: !hasBody });
  } catch {
    socket.destroy();
    return;
  }
  if (hasBody) request.pipe(stream);
  stream.on('headers', (headers) => {
    if (headers[':status'] === 100) response.writeContinue();
    else if (headers[':status'] === 102) response.writeProcessing();
    else if (headers[':status'] === 103) response.writeEarlyHints({ link: headers.link });
  });
  stream.on('response', (headers, _flags, raw) => {
    response.sendDate = false;
    response.writeHead(headers[':status'], [...shared(raw)].flat());
    response.flushHeaders();
  });
  stream.on('data', (part) => {
    if (!response.write(part)) stream.pause();
  });
  response.on('drain', () => stream.resume());
  stream.on('trailers', (_headers, _flags, raw) => response.addTrailers([...shared(raw)]));
  stream.on('error', () => {});
  stream.on('close', () => {
    // The rest of a body that the server did not want.
    request.unpipe(stream).resume();
    if (stream.rstCode === 0 && response.headersSent) response.end();
    else socket.destroy();
  });
  response.on('close', () => {
    if (!response.writableFinished) stream.close(8);
  });
}

const translator = http.createServer({ requireHostHeader: false }, forward);
translator.on('checkContinue', forward);
translator.keepAliveTimeout = 0;
translator.timeout = 0;

/** Where the translator listens for connections to a port. */
const entries = new Map();
function entryOf(target, then) {
  const key = `${target.host} ${target.port}`;
  const known = entries.get(key);
  if (known) return then(known);
  const server = net.createServer((socket) => {
    socket[kTarget] = target;
    // The client keeps the process alive.
    socket.unref();
    translator.emit('connection', socket);
  });
  server.unref();
  listen.call(server, 0, '127.0.0.1', () => {
    entries.set(key, server.address().port);
    then(server.address().port);
  });
}

const { listen } = net.Server.prototype;
const { createConnection } = http.Agent.prototype;
const LOCAL = new Set(['localhost', '127.0.0.1', '::1', '::', '0.0.0.0', undefined, null]);

/** Connects to the entry for a port; whether anybody listens there is told by a connection that is not translated. */
function reach(target, callback) {
  const probe = net.connect(target);
  probe.on('error', (error) => callback(error));
  probe.on('connect', () => {
    const { remoteAddress } = probe;
    probe.destroy();
    entryOf({ host: remoteAddress, port: target.port }, (entry) => {
      const socket = net.connect(entry, '127.0.0.1');
      socket.on('connect', () => callback(null, socket));
      socket.on('error', (error) => callback(error));
    });
  });
}

http.Agent.prototype.createConnection = function (options, callback) {
  const { host, port, family, socketPath } = options;
  if (this.protocol !== 'http:' || socketPath || !LOCAL.has(host)) {
    return createConnection.call(this, options, callback);
  }
  return void reach({ host: host ?? 'localhost', port, family }, callback);
};

// The same for fetch.
const connector = undici.buildConnector({});
const dispatcher = new undici.Agent({
  connect(options, callback) {
    const { protocol, hostname, port } = options;
    if (protocol !== 'http:') return connector(options, callback);
    return reach({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 80 }, callback);
  },
});
undici.setGlobalDispatcher(dispatcher);

process.on('exit', () => process.stderr.write(`requests over HTTP/2: ${requests}\n`));

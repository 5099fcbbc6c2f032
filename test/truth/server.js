import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { Connection } from './connection.js';

/**
 * Starts a server that notes exactly what arrives and answers by a script (see `Connection`).
 *
 * `listen` is what `server.listen` takes, by default a free port of 127.0.0.1; `tls` the options of a TLS server;
 * `accept(index)` may tell what happens to a connection before its first request: `'end'` or `'reset'`.
 */
export async function startTruthServer(script, { listen, tls: tlsOptions, accept } = {}) {
  const server = new TruthServer(script, tlsOptions, accept);
  await server.listen(listen ?? { port: 0, host: '127.0.0.1' });
  return server;
}

/** The same for the time of the test `t`. */
export async function truthServer(t, script, options) {
  const server = await startTruthServer(script, options);
  t.after(() => server.close());
  return server;
}

class TruthServer extends EventEmitter {
  connections = [];
  /** All requests in the order of their arrival. */
  requests = [];
  /** Messages of handshakes that failed. */
  tlsErrors = [];
  /** Of each TLS connection: protocol, ALPN, server name, resumed, the client certificate's subject. */
  sessions = [];

  #server;
  #sockets = new Set();
  #script;
  #accept;
  #secure;

  constructor(script, tlsOptions, accept) {
    super();
    this.#script = script;
    this.#accept = accept;
    this.#secure = tlsOptions !== undefined;
    this.#server = tlsOptions ? this.#tlsServer(tlsOptions) : net.createServer();
    this.#server.on('connection', (socket) => this.#track(socket));
    if (!tlsOptions) this.#server.on('connection', (socket) => this.#add(socket, socket));
  }

  async listen(options) {
    this.#server.listen(options);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    this.port = address.port;
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    const scheme = this.#secure ? 'https' : 'http';
    this.url = this.port ? `${scheme}://${host}:${this.port}/` : `unix:${options.path}:/`;
  }

  /** Once so many requests have arrived. */
  async arrived(count) {
    while (this.requests.length < count) await once(this, 'change');
  }

  /** Once `opened` connections, set-up and all, have come and gone: then everything that was sent has arrived. */
  async settled(opened) {
    while (this.connections.length < opened || this.#sockets.size > 0) await once(this, 'change');
    return this;
  }

  /** Accepts no more; what is open stays. */
  stopListening() {
    this.#server.close();
  }

  /** Ends everything. */
  async close() {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #track(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.emit('change');
    });
  }

  #add(socket, raw) {
    const index = this.connections.length;
    const connection = new Connection(index, socket, raw, {
      script: this.#script,
      arrived: (request) => {
        request.index = this.requests.push(request) - 1;
        this.emit('change');
      },
    });
    this.connections.push(connection);
    connection.finish(this.#accept?.(index));
    this.emit('change');
  }

  #tlsServer(options) {
    const raws = new Map();
    const server = tls.createServer({ ALPNProtocols: ['http/1.1'], ...options });
    server.on('connection', (raw) => raws.set(raw.remotePort, raw));
    server.on('tlsClientError', ({ message }) => this.tlsErrors.push(message));
    server.on('secureConnection', (socket) => {
      this.sessions.push({
        protocol: socket.getProtocol(),
        alpn: socket.alpnProtocol,
        serverName: socket.servername,
        resumed: socket.isSessionReused(),
        client: socket.getPeerCertificate().subject ?? null,
      });
      this.#add(socket, raws.get(socket.remotePort));
    });
    return server;
  }
}

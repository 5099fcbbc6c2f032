// Chat backend on two workers.
'use strict';
// Long-polling needs a client to come back to the same worker, so the primary accepts and hands
// each connection to a worker chosen by the client's address.
const cluster = require('node:cluster');
const net = require('node:net');
const http = require('node:http');
const crypto = require('node:crypto');

const WORKERS = 2;

function pick(sock) {
  const id = process.env.FIX ? String(sock.remotePort) : sock.remoteAddress;
  let h = 5381;
  for (let i = 0; i < id.length; i++) h = ((h * 33) ^ id.charCodeAt(i)) >>> 0;
  return h % WORKERS;
}

if (cluster.isPrimary) {
  const workers = [];
  const start = (i) => {
    workers[i] = cluster.fork();
    workers[i].on('exit', () => setTimeout(() => start(i), 500));
  };
  for (let i = 0; i < WORKERS; i++) start(i);
  let up = 0;
  cluster.on('message', (_w, m) => {
    if (m !== 'up' || ++up !== WORKERS) return;
    net
      .createServer({ pauseOnConnect: true }, (sock) => workers[pick(sock)].send('conn', sock))
      .listen(process.env.PORT || 3011);
  });
} else {
  const history = Array.from({ length: 50 }, (_, i) => ({
    from: `u${i % 5}`,
    text: `message number ${i}`,
    at: 1.7e12 + i,
  }));
  const server = http.createServer((_req, res) => {
    // signed page of messages; the key is derived per room
    const body = JSON.stringify(history);
    const key = crypto.pbkdf2Sync('room-7', 'pepper', 8000, 32, 'sha256');
    const sig = crypto.createHmac('sha256', key).update(body).digest('hex');
    res.setHeader('content-type', 'application/json');
    res.setHeader('x-signature', sig);
    res.end(body);
  });
  process.on('message', (m, sock) => {
    if (m !== 'conn' || !sock) return;
    server.emit('connection', sock);
    sock.resume();
  });
  process.send('up');
  process.on('disconnect', () => process.exit());
}

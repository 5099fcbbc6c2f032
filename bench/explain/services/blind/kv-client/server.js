// Preferences API on top of the in-house key-value daemon (length-prefixed frames over TCP).
'use strict';
const path = require('node:path');
const net = require('node:net');
const http = require('node:http');
const { fork } = require('node:child_process');

class Conn {
  constructor(port) {
    this.sock = net.connect({ port, host: '127.0.0.1', noDelay: Boolean(process.env.FIX) });
    this.buf = Buffer.alloc(0);
    this.sock.on('data', (d) => this.onData(d));
    this.sock.on('error', (e) => {
      if (this.cb) this.cb(e);
    });
  }
  onData(d) {
    this.buf = this.buf.length ? Buffer.concat([this.buf, d]) : d;
    if (this.buf.length < 4 || this.buf.length < 4 + this.buf.readUInt32BE(0)) return;
    const n = this.buf.readUInt32BE(0);
    const value = this.buf.toString('utf8', 4, 4 + n);
    this.buf = this.buf.subarray(4 + n);
    const cb = this.cb;
    this.cb = null;
    cb(null, value);
  }
  get(key, cb) {
    this.cb = cb;
    const head = Buffer.alloc(4);
    head.writeUInt32BE(Buffer.byteLength(key), 0);
    this.sock.write(head);
    this.sock.write(key);
  }
}

const idle = [];
let port;
function get(key) {
  return new Promise((resolve, reject) => {
    const c = idle.pop() || new Conn(port);
    c.get(key, (err, v) => {
      if (err) return reject(err);
      idle.push(c);
      resolve(v);
    });
  });
}

const kvd = fork(path.join(__dirname, 'kvd.js'));
process.on('exit', () => kvd.kill());
kvd.once('message', (p) => {
  port = p;
  http
    .createServer(async (req, res) => {
      try {
        const theme = await get(`prefs:${req.url.split('/').pop()}`);
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify({ theme }));
      } catch {
        res.statusCode = 502;
        res.end();
      }
    })
    .listen(process.env.PORT || 3007);
});

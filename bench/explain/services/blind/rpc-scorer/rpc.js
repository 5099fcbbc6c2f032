// The client of the fraud scorer: frames over a pool of sockets.
const net = require('node:net');
const { createPool } = require('generic-pool');

class Connection {
  constructor(port) {
    this.sock = net.connect({ port, host: '127.0.0.1', noDelay: !!process.env.FIX });
    this.buf = Buffer.alloc(0);
    this.sock.on('data', (d) => this.read(d));
    this.sock.on('error', (e) => this.waiting?.reject(e));
  }
  read(d) {
    this.buf = this.buf.length ? Buffer.concat([this.buf, d]) : d;
    if (this.buf.length < 4) return;
    const n = this.buf.readUInt32BE(0);
    if (this.buf.length < 4 + n) return;
    const msg = JSON.parse(this.buf.subarray(4, 4 + n));
    this.buf = this.buf.subarray(4 + n);
    this.waiting.resolve(msg);
  }
  call(msg) {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      const body = Buffer.from(JSON.stringify(msg));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      this.sock.write(head);
      this.sock.write(body);
    });
  }
}

module.exports = (port) => {
  const pool = createPool(
    {
      create: async () => new Connection(port),
      destroy: async (c) => c.sock.destroy(),
    },
    { min: 4, max: 50 },
  );
  return { call: (msg) => pool.use((c) => c.call(msg)) };
};

// Fraud scorer: frames of 4 bytes length + JSON, answers at once.
const net = require('node:net');
net
  .createServer({ noDelay: true }, (sock) => {
    let buf = Buffer.alloc(0);
    sock
      .on('error', () => {})
      .on('data', (d) => {
        buf = buf.length ? Buffer.concat([buf, d]) : d;
        while (buf.length >= 4 && buf.length >= 4 + buf.readUInt32BE(0)) {
          const n = buf.readUInt32BE(0);
          const order = JSON.parse(buf.subarray(4, 4 + n));
          buf = buf.subarray(4 + n);
          const body = Buffer.from(
            JSON.stringify({ id: order.id, score: (order.amount % 97) / 97 }),
          );
          const out = Buffer.alloc(4 + body.length);
          out.writeUInt32BE(body.length, 0);
          body.copy(out, 4);
          sock.write(out);
        }
      });
  })
  .listen(0, '127.0.0.1', function () {
    process.send({ port: this.address().port });
  });
process.on('disconnect', () => process.exit());

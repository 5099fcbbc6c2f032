// Tiny key-value daemon: 4-byte length, then the key; the answer has the same frame.
'use strict';
const net = require('node:net');
const s = net.createServer({ noDelay: true }, (sock) => {
  let buf = Buffer.alloc(0);
  sock.on('data', (d) => {
    buf = Buffer.concat([buf, d]);
    while (buf.length >= 4 && buf.length >= 4 + buf.readUInt32BE(0)) {
      const n = buf.readUInt32BE(0);
      const value = Buffer.from(`value-of-${buf.toString('utf8', 4, 4 + n)}`);
      buf = buf.subarray(4 + n);
      const out = Buffer.alloc(4 + value.length);
      out.writeUInt32BE(value.length, 0);
      value.copy(out, 4);
      sock.write(out);
    }
  });
  sock.on('error', () => {});
});
s.listen(0, '127.0.0.1', () => process.send(s.address().port));
process.on('disconnect', () => process.exit());

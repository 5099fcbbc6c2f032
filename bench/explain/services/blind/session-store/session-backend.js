// A stand-in for the Redis in the next rack: one JSON line in, one out, ~3 ms away.
'use strict';
const net = require('node:net');
const data = new Map();
const srv = net.createServer((sock) => {
  sock.setNoDelay(true);
  let buf = '';
  sock.on('data', (d) => {
    buf += d;
    for (let i = buf.indexOf('\n'); i >= 0; i = buf.indexOf('\n')) {
      const msg = JSON.parse(buf.slice(0, i));
      buf = buf.slice(i + 1);
      setTimeout(() => {
        if (msg.op === 'set') data.set(msg.key, msg.value);
        if (data.size > 5000) data.clear();
        sock.write(`${JSON.stringify({ id: msg.id, value: data.get(msg.key) ?? null })}\n`);
      }, 3);
    }
  });
  sock.on('error', () => {});
});
srv.listen(0, '127.0.0.1', () => process.send(srv.address().port));
process.on('disconnect', () => process.exit());

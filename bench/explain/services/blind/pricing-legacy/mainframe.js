// The mainframe with the prices, in a process of its own.
'use strict';
const net = require('node:net');
const s = net.createServer((c) => {
  c.setNoDelay(true);
  c.on('error', () => {});
  c.on('data', (d) => {
    for (const l of String(d).split('\n')) {
      if (!l) continue;
      const id = Number(l.split(' ')[0]);
      setTimeout(() => c.write(`${JSON.stringify({ id, value: 995 + (id % 10) })}\n`), 4);
    }
  });
});
s.listen(0, '127.0.0.1', () => process.send({ port: s.address().port }));
process.on('disconnect', () => process.exit(0));

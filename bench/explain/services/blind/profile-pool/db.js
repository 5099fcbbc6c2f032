// A pg-like database in its own process: line protocol, 2 ms a statement, any number of connections.
'use strict';
const net = require('node:net');
const s = net.createServer((c) => {
  c.setNoDelay(true);
  c.on('error', () => {});
  let buf = '';
  c.on('data', (d) => {
    buf += d;
    for (let i = buf.indexOf('\n'); i >= 0; i = buf.indexOf('\n')) {
      const sql = buf.slice(0, i);
      buf = buf.slice(i + 1);
      setTimeout(
        () =>
          c.write(
            JSON.stringify({ sql: sql.slice(0, 12), rows: [{ id: 7, name: 'Ada', plan: 'pro' }] }) +
              '\n',
          ),
        2,
      );
    }
  });
});
s.listen(0, '127.0.0.1', () => process.send({ port: s.address().port }));
process.on('disconnect', () => process.exit(0));

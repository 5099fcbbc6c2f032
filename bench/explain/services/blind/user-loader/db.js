// Pretend database: takes a list of ids, answers at once.
'use strict';
const http = require('node:http');
const s = http.createServer((req, res) => {
  const ids = new URL(req.url, 'http://x').searchParams.get('ids').split(',');
  res.end(JSON.stringify(ids.map((id) => ({ id, name: `user-${id}`, team: Number(id) % 7 }))));
});
s.keepAliveTimeout = 60000;
s.listen(0, '127.0.0.1', () => process.send(s.address().port));
process.on('disconnect', () => process.exit());

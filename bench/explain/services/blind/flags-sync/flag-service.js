// The flag service, in a process of its own.
'use strict';
const http = require('node:http');
const s = http.createServer((req, res) =>
  setTimeout(() => res.end(JSON.stringify({ on: req.url.endsWith('checkout') })), 4),
);
s.listen(0, '127.0.0.1', () => process.send(s.address().port));
process.on('disconnect', () => process.exit());

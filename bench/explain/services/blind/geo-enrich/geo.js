// The geo service: its own process. 4 ms, but a shard that is compacting answers after 2 s.
'use strict';
const http = require('node:http');
let n = 0;
const s = http.createServer((_req, res) => {
  const slow = ++n % 37 === 0;
  setTimeout(
    () => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ country: 'CH', city: 'Bern', asn: 3303 }));
    },
    slow ? 2000 : 4,
  );
});
s.keepAliveTimeout = 60000;
s.listen(0, '127.0.0.1', () => process.send({ port: s.address().port }));
process.on('disconnect', () => process.exit(0));

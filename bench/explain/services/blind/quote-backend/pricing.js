// Pricing engine: three licence slots, each quote holds one for 8 ms.
'use strict';
const http = require('node:http');
const SLOTS = Number(process.env.SLOTS || 3);
let busy = 0;
const queue = [];
function run(job) {
  busy++;
  setTimeout(() => {
    job();
    busy--;
    if (queue.length) run(queue.shift());
  }, 8);
}
const s = http.createServer((_req, res) => {
  const job = () => res.end(JSON.stringify({ price: 42.5, currency: 'EUR' }));
  if (busy < SLOTS) run(job);
  else queue.push(job);
});
s.keepAliveTimeout = 60000;
s.listen(0, '127.0.0.1', () => process.send(s.address().port));
process.on('disconnect', () => process.exit());

// The stock service, in a process of its own.
import http from 'node:http';

const s = http.createServer((req, res) => {
  setTimeout(() => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ sku: req.url.slice(7), onHand: 12, reserved: 3 }));
  }, 8);
});
s.keepAliveTimeout = 60_000;
s.listen(0, '127.0.0.1', () => process.send(s.address().port));
process.on('disconnect', () => process.exit());

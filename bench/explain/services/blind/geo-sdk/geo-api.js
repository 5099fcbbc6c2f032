// The geo vendor: 20 ms a look-up, any number at a time.
const http = require('node:http');
http
  .createServer((req, res) =>
    setTimeout(() => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ ip: req.url.slice(4), country: 'NL', city: 'Utrecht' }));
    }, 20),
  )
  .listen(0, '127.0.0.1', function () {
    process.send({ port: this.address().port });
  });
process.on('disconnect', () => process.exit());

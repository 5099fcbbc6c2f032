// Stand-in for the company's settings vault: every read takes 7 ms.
const http = require('node:http');
http
  .createServer((req, res) =>
    setTimeout(() => {
      res.end(
        JSON.stringify({
          tenant: req.url.slice(1),
          currency: 'EUR',
          vat: 0.19,
          features: { discount: true },
        }),
      );
    }, 7),
  )
  .listen(0, '127.0.0.1', function () {
    process.send({ port: this.address().port });
  });
process.on('disconnect', () => process.exit());

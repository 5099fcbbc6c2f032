// Fake inventory service: answers after 40 ms.
const http = require('node:http');
http
  .createServer((_req, res) =>
    setTimeout(() => {
      const items = [];
      for (let i = 0; i < 120; i++)
        items.push({
          sku: `SKU-${i}`,
          title: `Product & part ${i}`,
          price: 100 + i * 7,
          stock: (i * 13) % 40,
          tags: ['new', 'eu', `c${i % 9}`],
        });
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify(items));
    }, 40),
  )
  .listen(0, '127.0.0.1', function () {
    process.send({ port: this.address().port });
  });
process.on('disconnect', () => process.exit());

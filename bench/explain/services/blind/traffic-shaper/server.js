// Users, behind a traffic shaper.
const net = require('node:net');
const express = require('express');
const shaper = require('./shaper');

// a pg-like store on its own port: one line in, one line out, 4 ms
const store = net
  .createServer({ noDelay: true }, (s) => {
    s.on('error', () => {}).on('data', (d) =>
      setTimeout(
        () =>
          s.write(
            `${JSON.stringify({ rows: [{ id: +d, name: `user ${d.toString().trim()}` }] })}\n`,
          ),
        4,
      ),
    );
  })
  .listen(0, '127.0.0.1', start);

const free = [];
function query(id) {
  const c = free.pop() ?? net.connect({ port: store.address().port, noDelay: true });
  return new Promise((resolve) => {
    c.once('data', (d) => {
      free.push(c);
      resolve(JSON.parse(d).rows);
    });
    c.write(`${id}\n`);
  });
}

function start() {
  const app = express();
  app.use(
    shaper({ ratePerSecond: process.env.FIX ? 20_000 : 160, burst: process.env.FIX ? 2000 : 10 }),
  );
  app.get('/users/:id', async (req, res) => {
    const [user] = await query(+req.params.id);
    res.json(user);
  });
  app.listen(process.env.PORT || 3005);
}

// Orders, and their book on wall displays.
const http = require('node:http');
const { fork } = require('node:child_process');
const express = require('express');
const { WebSocketServer } = require('ws');

const orders = Array.from({ length: 4000 }, (_, i) => ({
  id: i,
  symbol: `SYM${i % 40}`,
  side: i % 2 ? 'buy' : 'sell',
  price: 100 + ((i * 7919) % 1000) / 10,
  qty: 1 + (i % 50),
}));

function topOfBook(depth) {
  const book = {};
  for (const o of orders) {
    let sides = book[o.symbol];
    if (!sides) {
      sides = { buy: [], sell: [] };
      book[o.symbol] = sides;
    }
    sides[o.side].push(o);
  }
  const out = {};
  for (const [symbol, { buy, sell }] of Object.entries(book)) {
    buy.sort((a, b) => b.price - a.price || a.id - b.id);
    sell.sort((a, b) => a.price - b.price || a.id - b.id);
    out[symbol] = {
      bid: buy.slice(0, depth).map((o) => [o.price, o.qty]),
      ask: sell.slice(0, depth).map((o) => [o.price, o.qty]),
    };
  }
  return out;
}

const app = express();
app.get('/orders/:id', (req, res) => {
  const order = orders[+req.params.id];
  if (!order) return res.status(404).json({ error: 'not found' });
  res.json(order);
});
const server = http.createServer(app);

const wss = new WebSocketServer({ server, path: '/live' });
wss.on('connection', (ws, req) => {
  ws.depth = +new URL(req.url, 'http://x').searchParams.get('depth') || 5;
});

setInterval(() => {
  orders[(Math.random() * orders.length) | 0].price += Math.random() - 0.5;
  const shared = process.env.FIX && topOfBook(10);
  for (const ws of wss.clients) {
    if (ws.readyState === 1)
      ws.send(JSON.stringify({ at: Date.now(), book: shared || topOfBook(ws.depth) }));
  }
}, 20);

const displays = fork(`${__dirname}/dashboards.js`);
server.listen(process.env.PORT || 3006, () => displays.send({ port: server.address().port }));
for (const s of ['SIGTERM', 'SIGINT'])
  process.on(s, () => {
    displays.kill();
    process.exit();
  });

// Order book snapshots.
'use strict';
// Expand the compact feed into level objects, ask the risk desk for a spread (a few ms away), then
// answer with the best levels.
const fastify = require('fastify')({ logger: false });
const { setTimeout: sleep } = require('node:timers/promises');

const FIX = process.env.FIX === '1';
const LEVELS = 1500;
const feed = new Float64Array(LEVELS * 2);
for (let i = 0; i < LEVELS; i++) {
  feed[2 * i] = 100 + i * 0.01;
  feed[2 * i + 1] = (i * 37) % 500;
}

class Level {
  constructor(price, size, side) {
    this.price = price;
    this.size = size;
    this.side = side;
    this.meta = { venue: `X${size % 7}`, notional: price * size };
  }
}

function expand() {
  const book = [];
  for (let i = 0; i < LEVELS; i++)
    book.push(new Level(feed[2 * i], feed[2 * i + 1], i & 1 ? 'ask' : 'bid'));
  return book;
}

async function riskSpread() {
  await sleep(8); // the risk desk's in-memory grid, one rack over
  return 0.02;
}

fastify.get('/book/:symbol', async (req) => {
  const symbol = req.params.symbol;
  if (FIX) {
    // expand after the wait: nothing big is alive while we wait
    const spread = await riskSpread();
    let notional = 0;
    for (let i = 0; i < LEVELS; i++) notional += feed[2 * i] * feed[2 * i + 1];
    return { symbol, spread, notional, best: feed[0] - spread };
  }
  const book = expand();
  const spread = await riskSpread();
  let notional = 0;
  for (const l of book) notional += l.meta.notional;
  return { symbol, spread, notional, best: book[0].price - spread };
});

fastify.listen({ port: Number(process.env.PORT) || 3000, host: '127.0.0.1' });

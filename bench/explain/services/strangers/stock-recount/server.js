// The stock of a warehouse. A script in Redis adds up the pieces of 12,000 articles for each request, so that the total is
// always right.
'use strict';
const express = require('express');
const { createClient } = require('redis');

const ARTICLES = 12_000;
const client = createClient({
  socket: { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT) },
});

const RECOUNT = `
local total = 0
for _, pieces in ipairs(redis.call('HVALS', KEYS[1])) do total = total + tonumber(pieces) end
return total`;

async function prepare() {
  await client.connect();
  const stock = {};
  for (let id = 0; id < ARTICLES; id++) stock[`article:${id}`] = String(id % 90);
  await client.hSet('stock', stock);
  const total = await client.eval(RECOUNT, { keys: ['stock'] });
  await client.set('stock:total', String(total));
}

const countStock = () => client.eval(RECOUNT, { keys: ['stock'] });
// What changes the stock changes this total, too.
const readTotal = async () => Number(await client.get('stock:total'));

const app = express();
app.get('/stock', async (_request, response) => {
  response.json({ pieces: await (process.env.FIX === '1' ? readTotal() : countStock()) });
});
prepare().then(() => app.listen(Number(process.env.PORT ?? 0), '127.0.0.1'));

// Stock levels.
'use strict';
// Each answer waits for the warehouse (30 ms) and signs the result.
const { createHmac } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const Koa = require('koa');
const DataLoader = require('dataloader');

const app = new Koa();
const stock = new Map(Array.from({ length: 1000 }, (_, i) => [String(i), (i * 37) % 90]));
const warehouse = new DataLoader(
  async (ids) => {
    await sleep(30);
    return ids.map((id) => stock.get(id) ?? 0);
  },
  { cache: false },
);

app.use(async (ctx) => {
  const m = /^\/stock\/(\w+)$/.exec(ctx.path);
  if (!m) ctx.throw(404);
  const level = await warehouse.load(m[1]);
  let sig = m[1];
  for (let i = 0; i < 60; i++)
    sig = createHmac('sha256', 'k')
      .update(sig + level)
      .digest('hex');
  ctx.body = { sku: m[1], level, sig };
});
app.listen(Number(process.env.PORT) || 3016, '127.0.0.1');

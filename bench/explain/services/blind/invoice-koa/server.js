// Invoices as HTML, with amounts and dates as the Swiss write them.
'use strict';
const Koa = require('koa');
const { setTimeout: sleep } = require('node:timers/promises');

const FIX = process.env.FIX === '1';
const app = new Koa();
const invoices = Array.from({ length: 200 }, (_, i) => ({
  no: 1000 + i,
  lines: Array.from({ length: 12 }, (_, k) => ({
    text: `Position ${k}`,
    cents: (i * 131 + k * 977) % 90000,
    day: Date.UTC(2024, k, 1 + (i % 28)),
  })),
}));

const chf = new Intl.NumberFormat('de-CH', { style: 'currency', currency: 'CHF' });
const dmy = new Intl.DateTimeFormat('de-CH', { dateStyle: 'medium', timeZone: 'UTC' });
const money = FIX
  ? (cents) => chf.format(cents / 100)
  : (cents) => (cents / 100).toLocaleString('de-CH', { style: 'currency', currency: 'CHF' });
const date = FIX
  ? (ms) => dmy.format(ms)
  : (ms) => new Date(ms).toLocaleDateString('de-CH', { dateStyle: 'medium', timeZone: 'UTC' });

async function load(no) {
  await sleep(3); // the document store
  return invoices[no % invoices.length];
}

app.use(async (ctx) => {
  const m = /^\/invoice\/(\d+)$/.exec(ctx.path);
  if (!m) ctx.throw(404);
  const inv = await load(Number(m[1]));
  let total = 0;
  const rows = inv.lines.map((l) => {
    total += l.cents;
    return `<tr><td>${date(l.day)}</td><td>${l.text}</td><td>${money(l.cents)}</td></tr>`;
  });
  ctx.type = 'html';
  ctx.body = `<h1>Invoice ${inv.no}</h1><table>${rows.join('')}</table><p>Total ${money(total)}</p>`;
});

app.listen(Number(process.env.PORT) || 3006, '127.0.0.1');

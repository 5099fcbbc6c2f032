// Invoices with the tenant’s settings.
const { fork } = require('node:child_process');
const Koa = require('koa');
const settings = require('./settings');

function invoice(tenant, lines) {
  const s = settings.get(tenant);
  const net = lines.reduce((sum, l) => sum + l.qty * l.price, 0) * (s.features.discount ? 0.97 : 1);
  return {
    tenant,
    currency: s.currency,
    net: +net.toFixed(2),
    gross: +(net * (1 + s.vat)).toFixed(2),
  };
}

const app = new Koa();
app.use(async (ctx) => {
  if (!ctx.path.startsWith('/invoice/')) return;
  const lines = Array.from({ length: 20 }, (_, i) => ({ qty: 1 + (i % 3), price: 9.99 + i }));
  ctx.body = invoice(ctx.path.split('/')[2], lines);
});

const vault = fork(`${__dirname}/vault.js`);
vault.once('message', ({ port }) => {
  settings.connect(`http://127.0.0.1:${port}`);
  app.listen(process.env.PORT || 3001);
});
for (const s of ['SIGTERM', 'SIGINT'])
  process.on(s, () => {
    vault.kill();
    process.exit();
  });

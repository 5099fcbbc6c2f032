// Trades, with alerts on the price.
const { EventEmitter } = require('node:events');
const Koa = require('koa');
const Router = require('@koa/router');

const bus = new EventEmitter();
bus.setMaxListeners(0); // many watchers are normal here
const prices = new Map(Array.from({ length: 200 }, (_, i) => [`S${i}`, 100 + i]));

class Watch {
  constructor(symbol, rise) {
    this.onChange = (changed, price) => {
      const change = price / prices.get(symbol) - 1; // against the day's opening price
      if (changed === symbol && change > rise) this.hit = price;
    };
    bus.on('price', this.onChange);
  }
  close() {
    bus.off('price', this.onChange);
  }
}

const router = new Router();
router.get('/trade/:symbol', async (ctx) => {
  const { symbol } = ctx.params;
  const watch = new Watch(symbol, 0.05);
  const price = +(prices.get(symbol) * (0.95 + Math.random() * 0.1005)).toFixed(2);
  bus.emit('price', symbol, price);
  ctx.body = { symbol, price, alert: watch.hit ?? null };
  if (watch.hit || process.env.FIX) watch.close();
});

const app = new Koa();
app.use(router.routes());
app.listen(process.env.PORT || 3011);

// Badges as pictures, drawn by worker threads: one, as its library was not safe for several once.
import Koa from 'koa';
import { Piscina } from 'piscina';

const threads = process.env.FIX === '1' ? 2 : 1;
const pool = new Piscina({
  filename: new URL('draw.js', import.meta.url).href,
  minThreads: threads,
  maxThreads: threads,
});

const drawBadge = (name) => pool.run({ name });

let next = 0;
const app = new Koa();
app.use(async (context) => {
  next = (next + 1) % 700;
  context.body = Buffer.from(await drawBadge(`Visitor ${next}`));
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

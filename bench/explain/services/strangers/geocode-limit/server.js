// Addresses to coordinates, by an API that takes 25 ms. Its contract was for three calls at a time.
import Koa from 'koa';
import pLimit from 'p-limit';
import { startDependency } from '../../../dependencies/start.js';

const api = await startDependency('http', { ms: 25 });
const limit = pLimit(process.env.FIX === '1' ? 60 : 3);

async function askApi(address) {
  const answer = await fetch(`http://127.0.0.1:${api}/?q=${encodeURIComponent(address)}`);
  const { value } = await answer.json();
  return { latitude: value, longitude: value / 2 };
}

async function locate(address) {
  return limit(askApi, address);
}

let next = 0;
const app = new Koa();
app.use(async (context) => {
  next = (next + 1) % 900;
  context.body = await locate(`Main Street ${next}`);
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

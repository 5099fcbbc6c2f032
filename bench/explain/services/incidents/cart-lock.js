// Checkout. Since the double booking of last November it runs under a lock in Redis, so that two instances cannot
// sell the last piece twice. The lock is the recipe of the Redis documentation: SET NX PX, and a script to unlock.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';
import Redis from 'ioredis';

const redis = new Redis(Number(process.env.DATABASE_PORT), '127.0.0.1');
redis.defineCommand('unlock', {
  numberOfKeys: 1,
  lua: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
});

const PRODUCTS = 2000;
const LOCK_TTL = 5000;
const RETRY_DELAY = 20; // Milliseconds, and a jitter of up to 10, as in redlock.
// Once: `lock:checkout`. A lock per product suffices for the stock, but needs the id in the key.
const lockOf =
  process.env.REMEDY === '1' ? (product) => `lock:checkout:${product}` : () => 'lock:checkout';

const filling = redis.pipeline();
filling.del('lock:checkout');
for (let product = 0; product < PRODUCTS; product++) {
  filling.del(`lock:checkout:${product}`).set(`stock:${product}`, 1_000_000);
}
await filling.exec();

async function withLock(key, job) {
  const token = randomUUID();
  while ((await redis.set(key, token, 'PX', LOCK_TTL, 'NX')) === null) {
    await delay(RETRY_DELAY + Math.random() * 10);
  }
  try {
    return await job();
  } finally {
    await redis.unlock(key, token);
  }
}

// The sandbox of the payment provider authorises in some 18 ms.
async function authorise(cents) {
  await delay(18);
  return { authorised: true, cents };
}

const app = express();
app.disable('x-powered-by');
app.get('/', async (_request, response) => {
  const product = Math.floor(Math.random() * PRODUCTS);
  const receipt = await withLock(lockOf(product), async () => {
    const left = Number(await redis.get(`stock:${product}`));
    if (left < 1) return { product, sold: false };
    const payment = await authorise(1999);
    await redis.decr(`stock:${product}`);
    return { product, sold: true, payment };
  });
  response.json(receipt);
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

// A list of 60 items of Redis, each awaited before the next is asked for.
import { createServer } from 'node:http';
import Redis from 'ioredis';

const redis = new Redis(Number(process.env.DATABASE_PORT), '127.0.0.1');
const filling = redis.pipeline();
for (let id = 0; id < 4000; id++)
  filling.set(`item:${id}`, JSON.stringify({ id, name: `item ${id}` }));
await filling.exec();

createServer(async (_request, response) => {
  const from = Math.floor(Math.random() * 3900);
  const keys = Array.from({ length: 60 }, (_, index) => `item:${from + index}`);
  const items = [];
  if (process.env.REMEDY === '1') items.push(...(await redis.mget(keys)));
  else for (const key of keys) items.push(await redis.get(key));
  response.setHeader('content-type', 'application/json');
  response.end(`[${items.join(',')}]`);
}).listen(process.env.PORT ?? 0, '127.0.0.1');

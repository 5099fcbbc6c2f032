// The sessions of a user are found with KEYS, which goes through all 40,000 keys of Redis.
import { createServer } from 'node:http';
import Redis from 'ioredis';

const redis = new Redis(Number(process.env.DATABASE_PORT), '127.0.0.1');
for (let user = 0; user < 40; user++) {
  const filling = redis.pipeline();
  for (let id = 0; id < 1000; id++) filling.set(`session:${user}:${id}`, '1');
  await filling.exec();
}
for (let id = 0; id < 20; id++) await redis.sadd('sessions:of:41', `session:41:${id}`);
for (let id = 0; id < 20; id++) await redis.set(`session:41:${id}`, '1');

createServer(async (_request, response) => {
  const keys =
    process.env.REMEDY === '1'
      ? await redis.smembers('sessions:of:41')
      : await redis.keys('session:41:*');
  response.end(String(keys.length));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

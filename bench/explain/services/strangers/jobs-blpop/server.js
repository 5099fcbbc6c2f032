// Profiles in Redis. The same connection takes jobs from a list, for which it waits up to 50 ms in Redis, or 100 ms, as Redis
// ends such waits ten times a second: what is sent meanwhile waits behind it.
import { createServer } from 'node:http';
import Redis from 'ioredis';

const PROFILES = 2000;
const redis = new Redis(Number(process.env.DATABASE_PORT), '127.0.0.1');
const jobs = process.env.FIX === '1' ? redis.duplicate() : redis;

const filling = redis.pipeline();
for (let id = 0; id < PROFILES; id++)
  filling.set(`profile:${id}`, JSON.stringify({ id, name: `User ${id}`, credits: id % 50 }));
await filling.exec();

async function work() {
  for (;;) {
    const found = await jobs.blpop('jobs', 0.05);
    if (found) await jobs.incr(`done:${found[1]}`);
  }
}
work();

async function readProfile(id) {
  const text = await redis.get(`profile:${id}`);
  return JSON.parse(text);
}

createServer(async (_request, response) => {
  const profile = await readProfile(Math.floor(Math.random() * PROFILES));
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ ...profile, level: profile.credits > 25 ? 'gold' : 'basic' }));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

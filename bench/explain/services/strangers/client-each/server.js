// A function that was moved from a serverless platform: it connects to PostgreSQL for each request.
import Fastify from 'fastify';
import pg from 'pg';

const settings = { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT), user: 'postgres' };
const pool = new pg.Pool({ ...settings, max: 20 });

async function openClient() {
  const client = new pg.Client(settings);
  await client.connect();
  return client;
}

async function readTime(client) {
  const { rows } = await client.query('select now() as now');
  return rows[0].now;
}

async function askOnce() {
  const client = await openClient();
  try {
    return await readTime(client);
  } finally {
    await client.end();
  }
}

const app = Fastify();
app.get('/', async () => ({ now: await (process.env.FIX === '1' ? readTime(pool) : askOnce()) }));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

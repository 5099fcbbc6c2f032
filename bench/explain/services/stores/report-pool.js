// A report that takes PostgreSQL 15 ms without CPU, over a pool of three connections.
import { createServer } from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  max: process.env.REMEDY === '1' ? 12 : 3,
});

createServer(async (_request, response) => {
  const client = await pool.connect();
  try {
    await client.query('select pg_sleep(0.015)');
    response.end('done');
  } finally {
    client.release();
  }
}).listen(process.env.PORT ?? 0, '127.0.0.1');

// A sale takes one from the stock in a transaction of PostgreSQL, and asks for a price before it commits: all lock one row.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const port = Number(process.env.DATABASE_PORT);
const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', max: 16 });
await pool.query('create table if not exists stock(id int primary key, pieces int)');
await pool.query('insert into stock values (7, 1000000000) on conflict do nothing');
const asksBefore = process.env.REMEDY === '1';
const askForPrice = () => delay(4);

createServer(async (_request, response) => {
  const client = await pool.connect();
  try {
    if (asksBefore) await askForPrice();
    await client.query('begin');
    await client.query('update stock set pieces = pieces - 1 where id = 7');
    if (!asksBefore) await askForPrice();
    await client.query('commit');
    response.end('sold');
  } finally {
    client.release();
  }
}).listen(process.env.PORT ?? 0, '127.0.0.1');

// The last orders of a customer, in PostgreSQL, by TCP or a Unix socket; the column of the customer has no index.
import { createServer } from 'node:http';
import pg from 'pg';

const port = Number(process.env.DATABASE_PORT);
const host = process.env.BY_UNIX_SOCKET === '1' ? process.env.DATABASE_FOLDER : '127.0.0.1';
const pool = new pg.Pool({ host, port, user: 'postgres', max: 10 });
await pool.query(
  `create table if not exists orders(id serial primary key, customer int, total numeric, note text)`,
);
const { rows: any } = await pool.query('select 1 from orders limit 1');
if (any.length === 0) {
  await pool.query(
    'insert into orders(customer, total, note) select (random() * 5000)::int, random() * 100, md5(random()::text) from generate_series(1, 60000)',
  );
}
await pool.query(
  process.env.REMEDY === '1'
    ? 'create index if not exists by_customer on orders(customer)'
    : 'drop index if exists by_customer',
);
const QUERY = 'select id, total, note from orders where customer = $1 order by id desc limit 5';

createServer(async (_request, response) => {
  const { rows } = await pool.query(QUERY, [Math.floor(Math.random() * 5000)]);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(rows));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

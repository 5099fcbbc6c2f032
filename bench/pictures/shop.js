// The service of the pictures: a shop on Express. An order is a transaction in PostgreSQL, in which the payment service
// is asked; meanwhile the order holds one of the pool's connections.
import express from 'express';
import pg from 'pg';

const { DATABASE_PORT, PAYMENTS, POOL = '10', PORT = '0' } = process.env;
const pool = new pg.Pool({
  ...{ host: '127.0.0.1', port: Number(DATABASE_PORT), user: 'postgres' },
  max: Number(POOL),
});
await pool.query('create table if not exists orders(id serial primary key, receipt text)');

const app = express();

app.post('/orders', async (_request, response) => {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query('insert into orders default values returning id');
    const payment = await fetch(PAYMENTS, { method: 'POST' });
    const { receipt } = await payment.json();
    await client.query('update orders set receipt = $1 where id = $2', [receipt, rows[0].id]);
    await client.query('commit');
    response.status(201).json({ id: rows[0].id, receipt });
  } finally {
    client.release();
  }
});

app.listen(Number(PORT), '127.0.0.1');

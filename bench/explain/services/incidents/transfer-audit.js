// Transfers between accounts, with an audit trail that has to survive a rollback: therefore the audit is not written
// by the client of the transaction, but over the pool.
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';
import pg from 'pg';

const ACCOUNTS = 10_000;
const pool = new pg.Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  max: process.env.REMEDY === '1' ? 24 : 5,
});
await pool.query('create table if not exists accounts(id int primary key, balance bigint)');
await pool.query(
  `insert into accounts select id, 1000000 from generate_series(0, ${ACCOUNTS - 1}) id on conflict do nothing`,
);
await pool.query('create table if not exists audit(at timestamptz, account int, amount int)');

const AUDIT = 'insert into audit values (now(), $1, $2)';
// OPS-2214: a slow audit must not hold up the customer. It gets 100 ms; after that it is written when it is written.
const audit = (account, amount) => Promise.race([pool.query(AUDIT, [account, amount]), delay(100)]);

async function transfer(from, to, amount) {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const [first, second] = from < to ? [from, to] : [to, from];
    await client.query('select 1 from accounts where id in ($1, $2) order by id for update', [
      first,
      second,
    ]);
    await audit(from, amount);
    await client.query(
      'update accounts set balance = balance + case id when $1 then -$3::int else $3::int end where id in ($1, $2)',
      [from, to, amount],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const app = express();
app.get('/', async (_request, response) => {
  const from = Math.floor(Math.random() * ACCOUNTS);
  const to = (from + 1 + Math.floor(Math.random() * (ACCOUNTS - 1))) % ACCOUNTS;
  await transfer(from, to, 5);
  response.json({ from, to, amount: 5 });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

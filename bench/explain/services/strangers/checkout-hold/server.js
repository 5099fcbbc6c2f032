// Checkout: an order in MariaDB, paid at a provider who takes 30 ms. The order's connection is held meanwhile.
import Fastify from 'fastify';
import mysql from 'mysql2/promise';
import { startDependency } from '../../../dependencies/start.js';

const provider = await startDependency('http', { ms: 30 });
const server = { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT), user: 'root' };

async function prepare() {
  const connection = await mysql.createConnection(server);
  // The disk is not the matter here.
  await connection.query('set global innodb_flush_log_at_trx_commit = 0');
  await connection.query('create database if not exists orders');
  await connection.query(
    'create table if not exists orders.orders(id int auto_increment primary key, cents int, receipt int)',
  );
  await connection.end();
}

await prepare();
const pool = mysql.createPool({ ...server, database: 'orders', connectionLimit: 6 });

const takeConnection = () => pool.getConnection();

async function pay(cents) {
  const answer = await fetch(`http://127.0.0.1:${provider}/payments?cents=${cents}`);
  return (await answer.json()).value;
}

async function store(connection, cents, receipt) {
  const [{ insertId }] = await connection.execute(
    'insert into orders(cents, receipt) values (?, ?)',
    [cents, receipt],
  );
  return insertId;
}

async function checkOut(cents) {
  const paidBefore = process.env.FIX === '1' ? await pay(cents) : null;
  const connection = await takeConnection();
  try {
    const receipt = paidBefore ?? (await pay(cents));
    return { order: await store(connection, cents, receipt), receipt };
  } finally {
    connection.release();
  }
}

const app = Fastify();
app.post('/checkout', async () => checkOut(1999));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

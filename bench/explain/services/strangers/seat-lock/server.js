// Reservations of seats in PostgreSQL. The total of the show must never be wrong, so a reservation locks the show.
'use strict';
const Fastify = require('fastify');
const { Pool } = require('pg');

const SEATS = 500;
const pool = new Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  max: 32,
});

async function prepare() {
  await pool.query('create table if not exists shows(id int primary key, title text)');
  await pool.query('create table if not exists seats(id int primary key, taken int)');
  await pool.query("insert into shows values (1, 'Hamlet') on conflict do nothing");
  await pool.query(
    `insert into seats select id, 0 from generate_series(1, ${SEATS}) as id on conflict do nothing`,
  );
}

const lockShow = (client) => client.query('select title from shows where id = 1 for update');
const lockSeat = (client, seat) =>
  client.query('select taken from seats where id = $1 for update', [seat]);

/** The price follows the demand; the function of the database that computes it takes 4 ms. */
const computePrice = (client) => client.query('select 4200 as cents, pg_sleep(0.004)');

async function reserve(seat) {
  const client = await pool.connect();
  try {
    await client.query('begin');
    if (process.env.FIX === '1') await lockSeat(client, seat);
    else await lockShow(client);
    const { rows } = await computePrice(client);
    await client.query('update seats set taken = taken + 1 where id = $1', [seat]);
    await client.query('commit');
    return { seat, cents: rows[0].cents };
  } finally {
    client.release();
  }
}

const app = Fastify();
app.post('/reservations', async () => reserve(1 + Math.floor(Math.random() * SEATS)));
prepare().then(() => app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' }));

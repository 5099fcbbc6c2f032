// Members are found by e-mail address, in whatever case they type it. There is an index of the address as it is stored.
import express from 'express';
import pg from 'pg';

const MEMBERS = 60_000;
const pool = new pg.Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  max: 8,
});

async function prepare() {
  await pool.query(
    'create table if not exists members(id serial primary key, email text, since date)',
  );
  const { rows } = await pool.query('select 1 from members limit 1');
  if (rows.length === 0) {
    await pool.query(
      `insert into members(email, since) select 'Member' || n || '@Example.org', current_date - n % 3000 from generate_series(1, ${MEMBERS}) as n`,
    );
    await pool.query('create index by_email on members(email)');
    await pool.query('analyze members');
  }
  await pool.query(
    process.env.FIX === '1'
      ? 'create index if not exists by_lower_email on members(lower(email))'
      : 'drop index if exists by_lower_email',
  );
}

async function findByEmail(email) {
  const { rows } = await pool.query(
    'select id, email, since from members where lower(email) = lower($1)',
    [email],
  );
  return rows[0];
}

await prepare();
const app = express();
app.get('/members', async (_request, response) => {
  const number = 1 + Math.floor(Math.random() * MEMBERS);
  response.json(await findByEmail(`member${number}@example.org`));
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

// Counts visits of pages and shows the count. The pool is small on purpose: PostgreSQL is shared by thirty services.
import Koa from 'koa';
import pg from 'pg';

const PAGES = 5000;
const pool = new pg.Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  max: 3,
});
await pool.query('create table if not exists visits(page int primary key, count bigint not null)');
await pool.query(
  `insert into visits select page, 0 from generate_series(0, ${PAGES - 1}) page on conflict do nothing`,
);

// Counts are collected, and written twice a second.
const collected = new Map();
setInterval(async () => {
  if (collected.size === 0) return;
  const pages = [...collected.keys()];
  const counts = [...collected.values()];
  collected.clear();
  await pool.query(
    'update visits set count = visits.count + more.count from unnest($1::int[], $2::int[]) as more(page, count) where visits.page = more.page',
    [pages, counts],
  );
}, 500);

const app = new Koa();
app.use(async (context, next) => {
  const start = performance.now();
  await next();
  context.set('server-timing', `app;dur=${(performance.now() - start).toFixed(2)}`);
});
app.use(async (context) => {
  const page = Math.floor(Math.random() * PAGES);
  collected.set(page, (collected.get(page) ?? 0) + 1);
  const { rows } = await pool.query({
    name: 'visits-of',
    text: 'select count from visits where page = $1',
    values: [page],
  });
  context.body = { page, visits: Number(rows[0].count) + (collected.get(page) ?? 0) };
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

// What is in the warehouse. The stock belongs to the ERP system, which MariaDB reaches by a stored function
// (a federated table in production: about 20 ms, most of them on the line to Rotterdam).
import Fastify from 'fastify';
import mysql from 'mysql2/promise';

const server = { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT), user: 'root' };

const setup = await mysql.createConnection(server);
await setup.query('create database if not exists warehouse');
await setup.query(
  'create or replace function warehouse.erp_stock(sku int) returns int not deterministic no sql begin do sleep(0.02); return (sku * 7) % 40; end',
);
await setup.query(
  'create table if not exists warehouse.articles(sku int primary key, name varchar(60), shelf varchar(12))',
);
await setup.query(
  "insert ignore into warehouse.articles select seq, concat('Article ', seq), concat('S', seq % 90) from warehouse.seq_0_to_4999",
);
await setup.end();

// One link for the whole process, opened when it starts; mysql2 sees to it that queries do not mix.
const db =
  process.env.REMEDY === '1'
    ? mysql.createPool({ ...server, database: 'warehouse', connectionLimit: 24 })
    : await mysql.createConnection({ ...server, database: 'warehouse' });

const app = Fastify({ logger: false });

const schema = {
  response: {
    200: {
      type: 'object',
      properties: {
        sku: { type: 'integer' },
        name: { type: 'string' },
        shelf: { type: 'string' },
        pieces: { type: 'integer' },
      },
    },
  },
};

app.get('/', { schema }, async () => {
  const sku = Math.floor(Math.random() * 5000);
  const [[article]] = await db.execute(
    'select sku, name, shelf, erp_stock(sku) as pieces from articles where sku = ?',
    [sku],
  );
  return article;
});

await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

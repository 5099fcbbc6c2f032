// A page of 20 events, for which 1000 rows come from MariaDB.
import { createServer } from 'node:http';
import mysql from 'mysql2/promise';

const server = { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT), user: 'root' };
const connection = await mysql.createConnection(server);
await connection.query('create database if not exists shop');
await connection.query(
  'create table if not exists shop.events(id int auto_increment primary key, kind varchar(20), at datetime, price decimal(10, 2), body varchar(100))',
);
const [[{ count }]] = await connection.query('select count(*) as count from shop.events');
if (count === 0) {
  await connection.query(
    "insert into shop.events(kind, at, price, body) select concat('k', seq % 9), now(), seq / 7, md5(seq) from shop.seq_1_to_2000",
  );
}
await connection.end();
const pool = mysql.createPool({ ...server, database: 'shop', connectionLimit: 8 });
const limit = process.env.REMEDY === '1' ? 20 : 1000;

createServer(async (_request, response) => {
  const [rows] = await pool.query(`select * from events order by id limit ${limit}`);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(rows.slice(0, 20)));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

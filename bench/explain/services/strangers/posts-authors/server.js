// The front page of a magazine: 15 posts, and the author of each. The database is in another region: a query takes the
// 4 ms of the way, for which it sleeps here.
import Koa from 'koa';
import mysql from 'mysql2/promise';

const POSTS = 15;
const server = { host: '127.0.0.1', port: Number(process.env.DATABASE_PORT), user: 'root' };

async function prepare() {
  const connection = await mysql.createConnection(server);
  await connection.query('create database if not exists magazine');
  await connection.query('use magazine');
  await connection.query(
    'create table if not exists authors(id int primary key, name varchar(40)) as select seq as id, concat("Author ", seq) as name from seq_1_to_200',
  );
  await connection.query(
    'create table if not exists posts(id int primary key, author int, title varchar(80)) as select seq as id, 1 + seq % 200 as author, concat("Post ", seq) as title from seq_1_to_3000',
  );
  await connection.end();
}

await prepare();
const pool = mysql.createPool({
  ...server,
  database: 'magazine',
  connectionLimit: 40,
  multipleStatements: true,
});

async function query(sql, values) {
  const [[, rows]] = await pool.query(`do sleep(0.004); ${sql}`, values);
  return rows;
}

const findPosts = () =>
  query('select id, author, title from posts order by id desc limit ?', [POSTS]);

async function findAuthor(id) {
  const [author] = await query('select id, name from authors where id = ?', [id]);
  return author;
}

const findAuthors = (ids) => query('select id, name from authors where id in (?)', [ids]);

async function loadPage() {
  const posts = await findPosts();
  const byId = new Map();
  if (process.env.FIX === '1') {
    for (const author of await findAuthors(posts.map(({ author }) => author)))
      byId.set(author.id, author);
  } else {
    for (const { author } of posts) byId.set(author, await findAuthor(author));
  }
  return posts.map(({ title, author }) => ({ title, author: byId.get(author).name }));
}

const app = new Koa();
app.use(async (context) => {
  context.body = await loadPage();
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

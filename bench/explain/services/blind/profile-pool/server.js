// User profiles: a row of the database and another team's avatar.
'use strict';
const net = require('node:net');
const http = require('node:http');
const path = require('node:path');
const { fork } = require('node:child_process');
const genericPool = require('generic-pool');
const { Pool } = require('undici');

const FIX = process.env.FIX === '1';
const db = fork(path.join(__dirname, 'db.js'));
process.on('exit', () => db.kill());
for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => process.exit(0));

function connect(port) {
  return new Promise((resolve, reject) => {
    const sock = net.connect(port, '127.0.0.1');
    sock.setNoDelay(true);
    let buf = '';
    const waiting = [];
    sock.on('data', (d) => {
      buf += d;
      for (let i = buf.indexOf('\n'); i >= 0; i = buf.indexOf('\n')) {
        waiting.shift()(JSON.parse(buf.slice(0, i)));
        buf = buf.slice(i + 1);
      }
    });
    sock.once('error', reject);
    sock.once('connect', () =>
      resolve({
        query: (sql) =>
          new Promise((r) => {
            waiting.push(r);
            sock.write(`${sql}\n`);
          }),
        end: () => sock.destroy(),
      }),
    );
  });
}

// avatars: another team's service, 25 ms
const avatars = http
  .createServer((_req, res) => setTimeout(() => res.end('{"url":"/a/7.png"}'), 25))
  .listen(0, '127.0.0.1');

db.once('message', ({ port }) => {
  const pool = genericPool.createPool(
    { create: () => connect(port), destroy: async (c) => c.end() },
    { min: 2, max: 8 },
  );
  const av = new Pool(`http://127.0.0.1:${avatars.address().port}`, { connections: 256 });
  const avatar = async (id) =>
    (await av.request({ method: 'GET', path: `/avatar/${id}` })).body.json();

  http
    .createServer(async (req, res) => {
      const id = req.url.split('/').pop();
      let user, pic;
      if (FIX) {
        user = await pool.use((c) => c.query(`SELECT * FROM users WHERE id=${id}`));
        pic = await avatar(id);
      } else {
        await pool.use(async (c) => {
          user = await c.query(`SELECT * FROM users WHERE id=${id}`);
          pic = await avatar(id);
        });
      }
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ ...user.rows[0], avatar: pic.url }));
    })
    .listen(Number(process.env.PORT) || 3005, '127.0.0.1');
});

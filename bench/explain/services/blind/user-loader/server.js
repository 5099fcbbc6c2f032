// User lookups, batched.
'use strict';
// Ids asked for within the window go to the database in one query.
const path = require('node:path');
const http = require('node:http');
const { fork } = require('node:child_process');

class Loader {
  constructor(batchFn, windowMs) {
    this.batchFn = batchFn;
    this.windowMs = windowMs;
    this.queue = null;
  }
  load(id) {
    return new Promise((resolve, reject) => {
      if (!this.queue) {
        this.queue = [];
        const go = () => this.flush();
        if (this.windowMs) setTimeout(go, this.windowMs);
        else setImmediate(go);
      }
      this.queue.push({ id, resolve, reject });
    });
  }
  async flush() {
    const batch = this.queue;
    this.queue = null;
    try {
      const rows = await this.batchFn([...new Set(batch.map((b) => b.id))]);
      const byId = new Map(rows.map((r) => [r.id, r]));
      for (const b of batch) b.resolve(byId.get(b.id));
    } catch (e) {
      for (const b of batch) b.reject(e);
    }
  }
}

const db = fork(path.join(__dirname, 'db.js'));
process.on('exit', () => db.kill());
db.once('message', (port) => {
  const agent = new http.Agent({ keepAlive: true });
  const query = (ids) =>
    new Promise((resolve, reject) => {
      http
        .get({ port, host: '127.0.0.1', agent, path: `/users?ids=${ids.join(',')}` }, (r) => {
          let s = '';
          r.setEncoding('utf8')
            .on('data', (d) => {
              s += d;
            })
            .on('end', () => resolve(JSON.parse(s)));
        })
        .on('error', reject);
    });
  const users = new Loader(query, process.env.FIX ? 0 : 25);
  let n = 0;
  http
    .createServer(async (_req, res) => {
      try {
        const user = await users.load(String(n++ % 1000));
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify(user));
      } catch {
        res.statusCode = 502;
        res.end();
      }
    })
    .listen(process.env.PORT || 3005);
});

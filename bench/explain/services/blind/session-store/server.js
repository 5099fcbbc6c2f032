// Session middleware in front of a small account page.
'use strict';
// Sessions live in a remote store.
const path = require('node:path');
const net = require('node:net');
const express = require('express');
const { fork } = require('node:child_process');
const { randomUUID } = require('node:crypto');

class StoreClient {
  constructor(port) {
    this.sock = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.pending = new Map();
    this.seq = 0;
    let buf = '';
    this.sock.on('data', (d) => {
      const lines = (buf + d).split('\n');
      buf = lines.pop();
      for (const l of lines) {
        const m = JSON.parse(l);
        this.pending.get(m.id)(m.value);
        this.pending.delete(m.id);
      }
    });
  }
  call(op, key, value) {
    return new Promise((resolve) => {
      const id = ++this.seq;
      this.pending.set(id, resolve);
      this.sock.write(`${JSON.stringify({ id, op, key, value })}\n`);
    });
  }
}

// Lost updates were reported when one user had two tabs open, hence the lock.
const tails = new Map();
async function withLock(name, fn) {
  const prev = tails.get(name) || Promise.resolve();
  let done;
  const mine = new Promise((r) => {
    done = r;
  });
  const tail = prev.then(() => mine);
  tails.set(name, tail);
  await prev;
  try {
    return await fn();
  } finally {
    done();
    if (tails.get(name) === tail) tails.delete(name);
  }
}

function sessions(store) {
  return async (req, res, next) => {
    const sid = /sid=([\w-]+)/.exec(req.headers.cookie || '')?.[1] || randomUUID();
    const lockName = process.env.FIX ? `session:${sid}` : 'session';
    try {
      await withLock(lockName, async () => {
        req.session = (await store.call('get', sid)) || { views: 0 };
        req.session.views++;
        await store.call('set', sid, req.session);
      });
      res.setHeader('set-cookie', `sid=${sid}; HttpOnly`);
      next();
    } catch (e) {
      next(e);
    }
  };
}

const child = fork(path.join(__dirname, 'session-backend.js'));
child.once('message', (port) => {
  const app = express();
  app.use(sessions(new StoreClient(port)));
  app.get('/account', (req, res) => res.json({ views: req.session.views, plan: 'basic' }));
  app.listen(process.env.PORT || 3000);
});
process.on('exit', () => child.kill());

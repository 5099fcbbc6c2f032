// Sessions in memory, swept of the expired ones at intervals.
'use strict';
const express = require('express');
const { randomBytes } = require('node:crypto');

const FIX = process.env.FIX === '1';
const TTL = 30 * 60_000;

class SessionStore {
  constructor() {
    this.map = new Map();
  }
  create(user) {
    const id = randomBytes(12).toString('hex');
    this.map.set(id, { user, seen: new Date(), cart: [] });
    return id;
  }
  get(id) {
    const s = this.map.get(id);
    if (s) s.seen = new Date();
    return s;
  }
  // last-seen order is not insertion order, so look at all of them
  sweep() {
    const now = new Date();
    const dead = [...this.map.entries()]
      .filter(([, s]) => now.getTime() - s.seen.getTime() > TTL)
      .map(([id]) => id);
    for (const id of dead) this.map.delete(id);
  }
}

const store = new SessionStore();
// restored from the last shutdown's snapshot
for (let i = 0; i < 200_000; i++) store.create(`user${i}`);
const demo = store.create('demo');

setInterval(() => store.sweep(), FIX ? 60_000 : 80);

const app = express();
app.set('etag', false);
app.get('/me', (req, res) => {
  const s = store.get(req.get('x-session') || demo);
  if (!s) return res.status(401).json({ error: 'no session' });
  res.json({ user: s.user, items: s.cart.length, seen: s.seen });
});
app.listen(Number(process.env.PORT) || 3014, '127.0.0.1');

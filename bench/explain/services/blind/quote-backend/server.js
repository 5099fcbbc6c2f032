// Quote API.
'use strict';
// Pool was raised from 10 to 100 last month; it did not help.
const path = require('node:path');
const express = require('express');
const { fork } = require('node:child_process');
const { Pool } = require('undici');

const engine = fork(path.join(__dirname, 'pricing.js'), {
  env: { ...process.env, SLOTS: process.env.FIX ? '24' : '3' },
});
process.on('exit', () => engine.kill());

engine.once('message', (port) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 100, pipelining: 1 });
  const app = express();
  app.use((_req, res, next) => {
    // a bit of housekeeping per request
    res.setHeader('x-request-id', Math.random().toString(36).slice(2));
    next();
  });
  app.get('/quote', async (req, res, next) => {
    try {
      const { body } = await pool.request({ method: 'GET', path: '/price' });
      const q = await body.json();
      res.json({ ...q, total: q.price * Number(req.query.qty || 1) });
    } catch (e) {
      next(e);
    }
  });
  app.listen(process.env.PORT || 3006);
});

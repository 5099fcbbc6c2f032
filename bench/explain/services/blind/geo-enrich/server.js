// Page visits, with the place that a geo service finds for the address.
'use strict';
const path = require('node:path');
const { fork } = require('node:child_process');
const express = require('express');
const { Pool } = require('undici');

const FIX = process.env.FIX === '1';
const geo = fork(path.join(__dirname, 'geo.js'));
process.on('exit', () => geo.kill());
for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => process.exit(0));

geo.once('message', ({ port }) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 128 });

  async function locate(ip) {
    const opts = { method: 'GET', path: `/v1/ip/${ip}` };
    if (FIX) opts.signal = AbortSignal.timeout(50);
    const { body } = await pool.request(opts);
    return body.json();
  }

  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.get('/visit/:page', async (req, res, next) => {
    try {
      let where;
      try {
        where = await locate(req.ip);
      } catch (e) {
        if (e.name !== 'TimeoutError') throw e;
        where = { country: null };
      }
      res.json({ page: req.params.page, where, at: Date.now() });
    } catch (e) {
      next(e);
    }
  });
  app.listen(Number(process.env.PORT) || 3001, '127.0.0.1');
});

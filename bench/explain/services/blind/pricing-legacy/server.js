// Price quotes: the mainframe's prices under the rules of an old engine.
'use strict';
const path = require('node:path');
const { fork } = require('node:child_process');
const express = require('express');
const { createClient } = require('./rpc');

const FIX = process.env.FIX === '1';
const mainframe = fork(path.join(__dirname, 'mainframe.js'));
process.on('exit', () => mainframe.kill());
for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => process.exit(0));

mainframe.once('message', ({ port }) => {
  const prices = createClient(port);

  // the rules engine: plain functions since 2014
  const rules = [
    (o, net) => (o.qty >= 10 ? net * 0.95 : net),
    (o, net) => (o.customer.startsWith('vip') ? net * 0.9 : net),
  ];
  const apply = (o, unit) => rules.reduce((net, r) => r(o, net), unit * o.qty);

  const app = express();
  app.get('/quote/:customer/:sku', async (req, res, next) => {
    try {
      const o = {
        customer: req.params.customer,
        sku: req.params.sku,
        qty: Number(req.query.qty) || 1,
      };
      const unit = FIX ? await prices.call(o.sku) : prices.callSync(o.sku);
      res.json({ ...o, cents: Math.round(apply(o, unit)) });
    } catch (e) {
      next(e);
    }
  });
  app.listen(Number(process.env.PORT) || 3011, '127.0.0.1');
});

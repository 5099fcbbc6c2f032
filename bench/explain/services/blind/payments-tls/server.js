// Checkout: every order is authorised at the payment provider (https, private CA).
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const https = require('node:https');
const express = require('express');
const { fork } = require('node:child_process');

const ca = fs.readFileSync(path.join(__dirname, 'cert.pem'));
const provider = fork(path.join(__dirname, 'provider.js'));
process.on('exit', () => provider.kill());

const shared = new https.Agent({ ca, keepAlive: true });
// keepAlive is on, so connections should be reused...
const agent = () =>
  process.env.FIX ? shared : new https.Agent({ ca, keepAlive: true, timeout: 2000 });

function authorise(port, order) {
  return new Promise((resolve, reject) => {
    const a = agent();
    const req = https.request(
      { host: 'localhost', port, family: 4, method: 'POST', path: '/authorise', agent: a },
      (r) => {
        let s = '';
        r.setEncoding('utf8')
          .on('data', (d) => {
            s += d;
          })
          .on('end', () => {
            resolve(JSON.parse(s));
            if (a !== shared) setImmediate(() => a.destroy());
          });
      },
    );
    req.on('error', reject);
    req.end(JSON.stringify(order));
  });
}

provider.once('message', (port) => {
  const app = express();
  app.get('/checkout', async (_req, res) => {
    try {
      res.json(await authorise(port, { amount: 1999, currency: 'EUR', basket: 'b-17' }));
    } catch (e) {
      res.status(502).json({ error: e.message });
    }
  });
  app.listen(process.env.PORT || 3012);
});

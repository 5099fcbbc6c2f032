// The partners' polling endpoint: their cron jobs connect, ask once and go.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const https = require('node:https');
const express = require('express');

const kind = process.env.FIX === '1' ? 'ec' : 'rsa';
const app = express();
app.disable('x-powered-by');

const shipments = new Map();
for (let i = 0; i < 1000; i++)
  shipments.set(String(i), {
    id: i,
    state: i % 3 ? 'in transit' : 'delivered',
    eta: `2024-11-0${1 + (i % 9)}`,
  });

app.get('/shipments/:id', (req, res) => {
  const s = shipments.get(req.params.id);
  if (!s) return res.status(404).json({});
  res.json(s);
});
app.get('/shipments', (_req, res) =>
  res.json([...shipments.values()].filter((s) => s.state === 'delivered').slice(0, 50)),
);

https
  .createServer(
    {
      key: fs.readFileSync(path.join(__dirname, `${kind}.key`)),
      cert: fs.readFileSync(path.join(__dirname, `${kind}.crt`)),
    },
    app,
  )
  .listen(Number(process.env.PORT) || 3010, '127.0.0.1');

// The place of an address, from a vendor’s SDK.
const http = require('node:http');
const { fork } = require('node:child_process');
const express = require('express');
const { GeoClient } = require('./vendor/geo-sdk');

// plenty of upstream sockets: we were bitten by this before (INC-1207)
http.globalAgent = new http.Agent({ keepAlive: true, maxSockets: 512 });

const app = express();
app.disable('x-powered-by');
let geo,
  n = 0;
app.get('/where', async (_req, res, next) => {
  try {
    const ip = `10.1.${(n >> 8) & 255}.${n++ & 255}`;
    const { country, city } = await geo.lookup(ip);
    res.json({ ip, country, city, currency: country === 'NL' ? 'EUR' : 'USD' });
  } catch (err) {
    next(err);
  }
});

const dep = fork(`${__dirname}/geo-api.js`);
dep.once('message', ({ port }) => {
  geo = new GeoClient({
    endpoint: `http://127.0.0.1:${port}`,
    httpOptions: process.env.CONNECTIONS ? { maxSockets: Number(process.env.CONNECTIONS) } : {},
  });
  app.listen(process.env.PORT || 3003);
});
for (const s of ['SIGTERM', 'SIGINT'])
  process.on(s, () => {
    dep.kill();
    process.exit();
  });

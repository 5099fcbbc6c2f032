// Status page that lets its clients go under memory pressure.
'use strict';
const http = require('node:http');

const FIX = process.env.FIX === '1';
const SOFT_LIMIT_MB = 512;
const started = Date.now();

// Under memory pressure let the clients go, so the balancer moves them elsewhere.
let draining = false;
function watch() {
  const rss = process.memoryUsage.rss();
  draining = (FIX ? rss / 2 ** 20 : rss / 2 ** 10) > SOFT_LIMIT_MB;
}
watch();
setInterval(watch, 500).unref();

const components = { api: 'up', search: 'up', mail: 'degraded' };

const server = http.createServer((req, res) => {
  if (draining) res.setHeader('Connection', 'close');
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Cache-Control', 'no-store');
  if (req.url === '/status') {
    res.end(JSON.stringify({ components, uptime: (Date.now() - started) / 1000 }));
  } else if (req.url.startsWith('/status/')) {
    const name = req.url.slice(8);
    res.end(JSON.stringify({ name, state: components[name] || 'unknown' }));
  } else {
    res.statusCode = 404;
    res.end('{}');
  }
});
server.keepAliveTimeout = 65_000;
server.listen(Number(process.env.PORT) || 3007, '127.0.0.1');

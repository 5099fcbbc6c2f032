// Webhook deliveries, each of them accepted once.
'use strict';
const http = require('node:http');

const FIX = process.env.FIX === '1';
// Deliveries come at least once: remember what was seen.
let seen = [];
const HOUR = 3_600_000;
const index = new Set();
let auto = 0;

function duplicate(id) {
  if (FIX) {
    if (index.has(id)) return true;
    index.add(id);
    return false;
  }
  const now = Date.now();
  seen = seen.filter((s) => now - s.at < HOUR); // forget the old ones
  if (seen.find((s) => s.id === id)) return true;
  seen.push({ id, at: now });
  return false;
}

const counts = { accepted: 0, dropped: 0 };
http
  .createServer((req, res) => {
    if (req.method !== 'POST' || req.url !== '/hooks/payment') {
      res.statusCode = 404;
      return res.end();
    }
    const chunks = [];
    req.on('data', (c) => chunks.push(c));
    req.on('end', () => {
      let ev;
      try {
        ev = JSON.parse(Buffer.concat(chunks));
      } catch {
        res.statusCode = 400;
        return res.end();
      }
      const id = req.headers['x-delivery-id'] ?? `${ev.type}-${++auto}`;
      if (duplicate(id)) counts.dropped++;
      else counts.accepted++;
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ type: ev.type, ...counts }));
    });
  })
  .listen(Number(process.env.PORT) || 3015, '127.0.0.1');

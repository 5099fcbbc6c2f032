// Accepts payments events.
'use strict';
// Clients may retry, so every event is remembered by its key and a repeated key gets the first
// answer again.
const http = require('node:http');
const { randomBytes } = require('node:crypto');

const TTL = 24 * 3600 * 1000;

class ListLedger {
  constructor() {
    this.entries = [];
  }
  find(key) {
    return this.entries.find((e) => e.key === key);
  }
  add(e) {
    this.entries.push(e);
  }
  expire(now) {
    while (this.entries.length && this.entries[0].at < now - TTL) this.entries.shift();
  }
}
class MapLedger {
  constructor() {
    this.entries = new Map();
  }
  find(key) {
    return this.entries.get(key);
  }
  add(e) {
    this.entries.set(e.key, e);
  }
  expire(now) {
    for (const [k, e] of this.entries) {
      if (e.at >= now - TTL) break;
      this.entries.delete(k);
    }
  }
}
const ledger = process.env.FIX ? new MapLedger() : new ListLedger();
setInterval(() => ledger.expire(Date.now()), 60_000).unref();

function handle(event, key) {
  const known = ledger.find(key);
  if (known) return known.answer;
  const answer = {
    accepted: true,
    ref: randomBytes(6).toString('hex'),
    type: event.type ?? 'unknown',
  };
  ledger.add({ key, at: Date.now(), answer });
  return answer;
}

http
  .createServer((req, res) => {
    if (req.method !== 'POST' || req.url !== '/events') {
      res.statusCode = 404;
      return res.end();
    }
    const parts = [];
    req.on('data', (d) => parts.push(d));
    req.on('end', () => {
      let event = {};
      try {
        event = JSON.parse(Buffer.concat(parts).toString() || '{}');
      } catch {
        res.statusCode = 400;
        return res.end();
      }
      const key = req.headers['idempotency-key'] || randomBytes(12).toString('hex');
      res.setHeader('content-type', 'application/json');
      res.setHeader('idempotency-key', key);
      res.statusCode = 202;
      res.end(JSON.stringify(handle(event, key)));
    });
  })
  .listen(process.env.PORT || 3002);

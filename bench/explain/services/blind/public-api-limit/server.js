// Public API of exchange rates, with a rate limit per client.
'use strict';
const express = require('express');

const FIX = process.env.FIX === '1';
const app = express();
app.set('trust proxy', false);

// token bucket per client
function rateLimit({ perSecond, burst, key }) {
  const buckets = new Map();
  return (req, res, next) => {
    const k = key(req);
    const now = Date.now();
    let b = buckets.get(k);
    if (!b) {
      b = { tokens: burst, at: now };
      buckets.set(k, b);
    }
    b.tokens = Math.min(burst, b.tokens + ((now - b.at) / 1000) * perSecond);
    b.at = now;
    if (b.tokens < 1) {
      res.set('Retry-After', '1');
      return res.status(429).json({ error: 'slow down' });
    }
    b.tokens--;
    next();
  };
}

// an API key gets 200/s -- the key is looked up by the auth middleware below
app.use(
  rateLimit({
    perSecond: FIX ? 1e6 : 200,
    burst: FIX ? 1e6 : 50,
    key: (req) => req.client_?.id,
  }),
);
app.use((req, _res, next) => {
  req.client_ = { id: req.get('x-api-key') || 'anonymous' };
  next();
});

const rates = { EUR: 0.94, USD: 0.88, GBP: 1.12 };
app.get('/rates/:cur', (req, res) => {
  const r = rates[req.params.cur];
  if (!r) return res.status(404).json({ error: 'unknown currency' });
  // the exchange's feed lags by 5 ms
  setTimeout(
    () => res.json({ base: 'CHF', cur: req.params.cur, rate: r, at: new Date().toISOString() }),
    5,
  );
});

app.listen(Number(process.env.PORT) || 3008, '127.0.0.1');

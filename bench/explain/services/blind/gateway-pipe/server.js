// Exchange rates for the mobile gateway, which pipelines its requests.
'use strict';
// Rates come from a local table; now and then one has gone stale and is refreshed from the rate
// provider first.
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');

const codes = ['USD', 'GBP', 'CHF', 'JPY', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK', 'HUF'];
const rates = new Map(codes.map((c, i) => [c, { rate: 1 + i / 7, uses: i }]));
const MAX_USES = 12;

async function fetchRate(code) {
  // stands for the provider's API, 40 ms away
  await sleep(40);
  return rates.get(code).rate * (0.999 + Math.random() / 500);
}

async function rate(code) {
  const r = rates.get(code);
  if (++r.uses < MAX_USES) return r;
  r.uses = 0;
  if (process.env.FIX) {
    // serve the stale one, refresh behind it
    fetchRate(code).then((v) => {
      r.rate = v;
    });
    return r;
  }
  r.rate = await fetchRate(code);
  return r;
}

let n = 0;
http
  .createServer(async (_req, res) => {
    const code = codes[n++ % codes.length];
    const { rate: value } = await rate(code);
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ base: 'EUR', code, value }));
  })
  .listen(process.env.PORT || 3015);

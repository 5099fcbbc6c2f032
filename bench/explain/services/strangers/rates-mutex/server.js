// Exchange rates of 5000 pairs, kept for a second; a rate comes from a provider in 8 ms. A mutex sees to it that no rate is
// asked for twice at the same time.
import { createServer } from 'node:http';
import { Mutex } from 'async-mutex';
import { Agent, request } from 'undici';
import { startDependency } from '../../../dependencies/start.js';

const PAIRS = 5000;
const MAX_AGE_MS = 1000;
const provider = await startDependency('http', { ms: 8 });
const dispatcher = new Agent({ connections: 100, keepAliveTimeout: 30_000 });

const rates = new Map();
const mutexes = new Map();
const mutexOf = (pair) => {
  const key = process.env.FIX === '1' ? pair : 'rates';
  if (!mutexes.has(key)) mutexes.set(key, new Mutex());
  return mutexes.get(key);
};

async function askProvider(pair) {
  const { body } = await request(`http://127.0.0.1:${provider}/rates/${pair}`, { dispatcher });
  return (await body.json()).value;
}

const enter = (pair) => mutexOf(pair).acquire();

async function findRate(pair) {
  const leave = await enter(pair);
  try {
    const known = rates.get(pair);
    if (known && performance.now() - known.at < MAX_AGE_MS) return known.rate;
    const rate = await askProvider(pair);
    rates.set(pair, { rate, at: performance.now() });
    return rate;
  } finally {
    leave();
  }
}

let next = 0;
createServer(async (_request, response) => {
  next = (next + 1237) % PAIRS;
  response.end(JSON.stringify({ pair: next, rate: await findRate(next) }));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

// Feature flags for a cluster of two. The rules live in the primary, and the workers ask it, so that a change of a
// rule is seen by all at the same moment (marketing noticed, once).
import cluster from 'node:cluster';
import express from 'express';

const WORKERS = 2;
const RULES = 2000;

const rules = Array.from({ length: RULES }, (_, id) => ({
  flag: `flag-${id}`,
  segment: new RegExp(`^(?:user|guest)-[0-9]*${id % 10}[0-9]?$`),
  percentage: (id * 13) % 100,
  countries: ['nl', 'de', 'fr', 'be', 'at'].slice(0, 1 + (id % 5)),
}));

/** FNV-1a, as in the SDK of the apps: both have to put a user into the same bucket. */
function bucketOf(text) {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return hash % 100;
}

function flagsOf({ user, country, experiments }) {
  const flags = [];
  for (const rule of rules) {
    if (!rule.countries.includes(country) && !rule.segment.test(user)) continue;
    // A user is in a flag if any of the running experiments puts them there.
    for (let experiment = 0; experiment < experiments; experiment++) {
      if (bucketOf(`${rule.flag}:${experiment}:${user}`) < rule.percentage / experiments) {
        flags.push(rule.flag);
        break;
      }
    }
  }
  return flags;
}

if (cluster.isPrimary) {
  for (let index = 0; index < WORKERS; index++) cluster.fork();
  cluster.on('message', (worker, { id, context }) => worker.send({ id, flags: flagsOf(context) }));
} else {
  const asked = new Map();
  let last = 0;
  process.on('message', ({ id, flags }) => {
    asked.get(id)?.(flags);
    asked.delete(id);
  });
  const askPrimary = (context) =>
    new Promise((resolve) => {
      asked.set(++last, resolve);
      process.send({ id: last, context });
    });
  const evaluate = process.env.REMEDY === '1' ? async (context) => flagsOf(context) : askPrimary;

  const app = express();
  app.get('/', async (_request, response) => {
    const user = `user-${Math.floor(Math.random() * 100_000)}`;
    const flags = await evaluate({ user, country: 'de', experiments: 40 });
    response.json({ user, count: flags.length, flags: flags.slice(0, 10) });
  });
  app.listen(process.env.PORT ?? 0, '127.0.0.1');
}

// Orders, taken by a cluster of one worker; a repeated key gets the same answer again.
'use strict';
const cluster = require('node:cluster');
const { randomUUID } = require('node:crypto');

const FIX = process.env.FIX === '1';

if (cluster.isPrimary) {
  // the container has 256 MB: one worker, started again when it dies
  cluster.setupPrimary({ execArgv: ['--max-old-space-size=180'] });
  let stopping = false;
  cluster.fork();
  cluster.on('exit', () => {
    if (!stopping) cluster.fork();
  });
  const bye = () => {
    stopping = true;
    for (const w of Object.values(cluster.workers)) w.process.kill('SIGKILL');
    process.exit(0);
  };
  process.on('SIGTERM', bye);
  process.on('SIGINT', bye);
} else {
  const fastify = require('fastify')();
  const TTL_SECONDS = 600;

  // Idempotency: the same key gets the same answer again. No key sent: we make one.
  const answers = new Map();
  setInterval(() => {
    const now = Date.now();
    for (const [key, a] of answers) {
      if (a.expires > now) break;
      answers.delete(key);
    }
  }, 5000).unref();

  const assortment = Array.from({ length: 80 }, (_, i) => ({ sku: `sku-${i}`, net: 1.5 + i }));
  const price = (order) => {
    // every line is the order's own copy, the warehouse edits them
    const lines = assortment.map((a) => ({
      sku: a.sku,
      qty: 1,
      price: { net: a.net, vat: a.net * 0.081 },
      picked: null,
    }));
    return {
      id: randomUUID(),
      customer: order.customer,
      lines,
      history: [{ at: Date.now(), state: 'created' }],
    };
  };

  fastify.post('/orders', async (req, reply) => {
    const sent = req.headers['idempotency-key'];
    const key = sent ?? randomUUID();
    let hit = answers.get(key);
    if (!hit) {
      hit = { order: price(req.body), expires: Date.now() + TTL_SECONDS * 1000 };
      if (sent || !FIX) answers.set(key, hit); // a key of our own never comes again
    }
    reply.code(201);
    return { id: hit.order.id, lines: hit.order.lines.length };
  });

  fastify.listen({ port: Number(process.env.PORT) || 3009, host: '127.0.0.1' });
}

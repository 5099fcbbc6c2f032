// Product pages: description from memory, stock level from the stock service.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { Agent, request } from 'undici';

const products = new Map();
for (let i = 0; i < 500; i++)
  products.set(String(i), { sku: String(i), name: `Product ${i}`, price: 100 + i });

// "connections" is per origin. 4 came with the example in the wiki, which ran 8 replicas.
const dispatcher = new Agent({
  connections: Number(process.env.CONNECTIONS ?? 4),
  keepAliveTimeout: 30_000,
  pipelining: 1,
});

const dep = fork(fileURLToPath(new URL('./stock.js', import.meta.url)));
const port = await new Promise((r) => dep.once('message', r));
process.on('exit', () => dep.kill());

const timings = { calls: 0, total: 0 };
async function stock(sku) {
  const { body } = await request(`http://127.0.0.1:${port}/stock/${sku}`, { dispatcher });
  // Timed from the answer's head, so this shows the stock service at well under a millisecond.
  const t0 = performance.now();
  const json = await body.json();
  timings.calls++;
  timings.total += performance.now() - t0;
  return json;
}

const app = Fastify({ logger: false });
app.get('/product/:sku', async (req, reply) => {
  const p = products.get(req.params.sku);
  if (!p) return reply.code(404).send({ error: 'unknown sku' });
  const { onHand, reserved } = await stock(p.sku);
  return { ...p, available: onHand - reserved };
});
app.get('/metrics', async () => ({
  stockCalls: timings.calls,
  stockMs: timings.total / (timings.calls || 1),
}));
await app.listen({ port: Number(process.env.PORT || 3004), host: '0.0.0.0' });

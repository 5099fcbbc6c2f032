// Catalog: items by their id, the top ten, and a search.
import Fastify from 'fastify';

const FIX = process.env.FIX === '1';
const app = Fastify();
const items = Array.from({ length: 500 }, (_, i) => ({
  id: i,
  title: `Item number ${i}`,
  price: (i * 7) % 100,
}));
const byId = new Map(items.map((i) => [String(i.id), i]));

// only words, single spaces between them
const QUERY = FIX ? /^\w+(?:\s\w+)*$/ : /^(\w+\s?)*$/;

app.get(
  '/items/:id',
  async (req, reply) => byId.get(req.params.id) ?? reply.code(404).send({ error: 'no such item' }),
);

app.get('/top', async () => items.slice(0, 10));

app.get('/search', async (req) => {
  const q = String(req.query.q ?? '')
    .slice(0, 60)
    .trim();
  if (!QUERY.test(q))
    return { q: q.replace(/[^\w ]/g, ''), hits: [], hint: 'letters and digits only' };
  const words = q.toLowerCase().split(' ');
  return {
    q,
    hits: items.filter((i) => words.every((w) => i.title.toLowerCase().includes(w))).slice(0, 10),
  };
});

app.get('/healthz', async () => ({ ok: true }));

await app.listen({ port: Number(process.env.PORT) || 3004, host: '127.0.0.1' });

// Builds an answer of many objects and holds it while a right is looked up for 20 ms, in Express: what is young is
// copied while it waits.
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';

const item = (id) => ({
  id,
  place: { x: id, y: -id },
  tags: [id, id + 1],
  price: { net: id, gross: id * 2 },
});

const app = express();
app.get('/', async (_request, response) => {
  const items = Array.from({ length: 2000 }, (_, id) => item(id));
  await delay(20);
  response.json({ items: items.length });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

// A route that matches a text against a pattern which goes back and forth, beside one that waits 10 ms. Express.
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';

const pattern = process.env.REMEDY === '1' ? /^a+$/ : /^(a+)+$/;
const text = `${'a'.repeat(23)}!`;

const app = express();
app.get('/search', (_request, response) => {
  response.json({ matches: pattern.test(text) });
});
app.get('/item', async (_request, response) => {
  await delay(10);
  response.json({ id: 1 });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

// A chain of four short waits, as of session, user, rights and data, in Express.
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';

const ask = async (what) => {
  await delay(10);
  return { what, at: Date.now() };
};

const app = express();
app.get('/', async (_request, response) => {
  const session = await ask('session');
  const user = await ask('user');
  const rights = await ask('rights');
  const data = await ask('data');
  response.json({ session, user, rights, data });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

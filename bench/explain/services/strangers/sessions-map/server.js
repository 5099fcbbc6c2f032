// A shop that starts a session for whoever comes without a cookie, robots too, and forgets none.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import express from 'express';

const PLACES = 60;
const MAX_SESSIONS = 1000;
const sessions = new Map();

function startSession() {
  const id = randomUUID();
  const recent = Array.from({ length: PLACES }, (_, place) => ({ place, article: null }));
  sessions.set(id, { recent, since: Date.now() });
  return id;
}

function forgetOldest() {
  for (const id of sessions.keys()) {
    if (sessions.size <= MAX_SESSIONS) return;
    sessions.delete(id);
  }
}

// What is offered comes from another service.
const loadOffers = () => delay(10, [3, 14, 15]);

const app = express();
app.get('/', async (request, response) => {
  if (!request.headers.cookie) response.cookie('session', startSession());
  if (process.env.FIX === '1') forgetOldest();
  response.json(await loadOffers());
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

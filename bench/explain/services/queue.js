// Puts what is to be done in a queue that is worked off one by one, each by asking a service of 15 ms. Fastify.
import fastify from 'fastify';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 15 });
const parallel = process.env.REMEDY === '1';
let last = Promise.resolve();

async function ask() {
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  return answer.json();
}

function enqueue(job) {
  last = last.then(job, job);
  return last;
}

const app = fastify();
app.get('/', () => (parallel ? ask() : enqueue(ask)));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

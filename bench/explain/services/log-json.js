// Writes a record of 15 kB about each request, with the stack, as JSON to its standard output, in Fastify.
import fastify from 'fastify';
import { rotate } from '../rotate.js';

const silent = process.env.REMEDY === '1';
const context = Array.from({ length: 200 }, (_, i) => ({
  step: i,
  took: i / 7,
  what: `loaded part ${i} of the page`,
}));
let requests = 0;

function log(headers) {
  const { stack } = new Error('trace');
  const record = { level: 10, at: new Date(), requests, headers, stack, context };
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

const app = fastify();
app.get('/', ({ headers }) => {
  requests++;
  if (!silent) log(headers);
  if (requests % 5000 === 0 && !silent) rotate();
  return { done: true };
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

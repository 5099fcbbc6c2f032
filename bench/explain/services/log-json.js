// Writes a record of 20 kB about each request, with the stack, as JSON and synchronously, in Fastify.
import { ftruncateSync, writeSync } from 'node:fs';
import fastify from 'fastify';

const silent = process.env.REMEDY === '1';
const context = Array.from({ length: 200 }, (_, i) => ({
  step: i,
  took: i / 7,
  what: `loaded part ${i} of the page`,
}));
let requests = 0;

const app = fastify();
app.get('/', ({ headers }) => {
  requests++;
  if (!silent) {
    const { stack } = new Error('trace');
    writeSync(
      1,
      `${JSON.stringify({ level: 10, at: new Date(), requests, headers, stack, context })}\n`,
    );
    // As a rotation of logs would.
    if (requests % 5000 === 0) ftruncateSync(1);
  }
  return { done: true };
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

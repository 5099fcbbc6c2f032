// Fastify with plugins of its own.
import { join } from 'node:path';
import { Readable } from 'node:stream';
import compress from '@fastify/compress';
import multipart from '@fastify/multipart';
import files from '@fastify/static';
import websocket from '@fastify/websocket';
import Fastify from 'fastify';
import { announce, endless, page } from './announce.mjs';

// The way of the other lines, or their order is chance.
const stream = { write: (line) => process.stdout.write(line) };
const app = Fastify({ logger: { base: null, timestamp: false, stream }, bodyLimit: 100_000 });
await app.register(compress, { threshold: 1_000 });
await app.register(websocket);
await app.register(multipart);
await app.register(files, { root: join(process.cwd(), 'public'), prefix: '/static/' });

app.get('/', async (request) => ({ ip: request.ip, host: request.host, id: request.id }));
app.get('/page', (_request, reply) => reply.type('text/plain').send(page));
app.get('/stream', (_request, reply) => reply.type('text/plain').send(Readable.from(parts())));
app.get('/broken', (_request, reply) => reply.type('text/plain').send(Readable.from(parts(true))));
app.get('/endless', (_request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  endless(reply.raw);
});
app.get('/slow', async () => {
  console.log('slow');
  await new Promise((resolve) => setTimeout(resolve, 500));
  return 'slow';
});
app.get('/fail', async () => {
  throw Object.assign(new Error('on purpose'), { statusCode: 418 });
});
app.get('/trailers', (_request, reply) => {
  reply.trailer('x-sum', async () => '7');
  reply.send('body');
});
app.all('/echo', async ({ method, body }) => ({ method, body: body ?? null }));
app.post('/upload', async (request) => {
  const fields = {};
  for await (const part of request.parts()) {
    fields[part.fieldname] = part.file ? (await part.toBuffer()).length : part.value;
  }
  return fields;
});
app.get('/socket', { websocket: true }, (socket) => {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
  socket.on('close', (code) => console.log(`socket closed ${code}`));
});
app.addHook('onRequestAbort', async ({ url }) => console.log(`aborted ${url}`));
app.addHook('onClose', async () => console.log('onClose'));

async function* parts(fails = false) {
  yield 'first\n';
  await new Promise((resolve) => setTimeout(resolve, 20));
  if (fails) throw new Error('on purpose');
  yield 'last\n';
}

await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server, () => app.close());

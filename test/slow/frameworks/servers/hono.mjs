// Hono on its server for Node.js.
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { createNodeWebSocket } from '@hono/node-ws';
import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { logger } from 'hono/logger';
import { stream, streamSSE } from 'hono/streaming';
import { announce, page } from './announce.mjs';

const app = new Hono();
const { injectWebSocket, upgradeWebSocket } = createNodeWebSocket({ app });
app.use(logger((line) => console.log(line.replace(/ \d+m?s$/, ''))));
app.use('/page', compress());
app.use(
  '/static/*',
  serveStatic({ root: './public', rewriteRequestPath: (path) => path.slice(7) }),
);

app.get('/', (context) => context.json({ hello: 'world' }));
app.get('/page', (context) => context.text(page));
app.get('/stream', (context) =>
  stream(context, async (out) => {
    await out.write('first\n');
    await out.sleep(20);
    await out.write('last\n');
  }),
);
app.get('/endless', (context) =>
  streamSSE(context, async (out) => {
    out.onAbort(() => console.log('left'));
    while (!out.aborted) {
      await out.writeSSE({ data: 'more' });
      await out.sleep(20);
    }
  }),
);
app.get('/slow', async (context) => {
  console.log('slow');
  await new Promise((resolve) => setTimeout(resolve, 500));
  return context.text('slow');
});
app.get('/fail', () => {
  throw new Error('on purpose');
});
app.all('/echo', async (context) =>
  context.json({ method: context.req.method, body: await context.req.text() }),
);
app.post('/upload', async (context) => {
  const { file, title } = await context.req.parseBody();
  return context.json({ size: file.size, title });
});
app.get(
  '/socket',
  upgradeWebSocket(() => ({
    onMessage: ({ data }, socket) => socket.send(data),
    onClose: ({ code }) => console.log(`socket closed ${code}`),
  })),
);
app.onError((error, context) => context.text(error.message, 500));

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
injectWebSocket(server);
if (!server.listening) await once(server, 'listening');
announce(server, () => new Promise((resolve) => server.close(resolve)));

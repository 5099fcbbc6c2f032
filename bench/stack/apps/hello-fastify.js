import fastify from 'fastify';
import { announce } from './announce.js';

const app = fastify();
app.get('/', (_request, reply) => {
  reply.send('hello world\n');
});
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server);

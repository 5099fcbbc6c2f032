// Ends the connection with each answer, as old proxies taught it to. Fastify.
import fastify from 'fastify';

const app = fastify();
app.get('/', (_request, reply) => {
  if (process.env.REMEDY !== '1') reply.header('Connection', 'close');
  reply.send('done\n');
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

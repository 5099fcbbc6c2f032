// Copies the list for every entry that it adds, as is the fashion, in Fastify: garbage, request after request.
import fastify from 'fastify';

const sessions = new Map();
let requests = 0;

const app = fastify();
app.get('/', () => {
  requests++;
  let visits = [];
  for (let i = 0; i < 300; i++) {
    visits = [...visits, { page: `/page/${i}`, ms: i, user: { id: requests } }];
  }
  sessions.set(requests % 100, visits);
  return { visits: visits.length };
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

// Scans all its sessions in every turn of the loop, for an interval was meant to be read from settings and is undefined. Fastify.
import fastify from 'fastify';

const sessions = new Map(Array.from({ length: 50_000 }, (_, id) => [id, { id, seen: Date.now() }]));
const settings = {};

function expire() {
  const oldest = Date.now() - 3_600_000;
  for (const [id, { seen }] of sessions) if (seen < oldest) sessions.delete(id);
}
setInterval(expire, process.env.REMEDY === '1' ? 60_000 : settings.scanMs);

const app = fastify();
app.get('/', () => ({ sessions: sessions.size }));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

// Fastify with seven plugins, and a schema of what it answers.
import compress from '@fastify/compress';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import sensible from '@fastify/sensible';
import fastify from 'fastify';
import { announce } from '../../stack/apps/announce.js';

const item = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } };

const app = fastify();
await app.register(helmet);
await app.register(cors);
await app.register(compress);
await app.register(cookie, { secret: 'of the benchmark' });
await app.register(formbody);
await app.register(sensible);
await app.register(rateLimit, { max: 1_000_000_000, timeWindow: 3_600_000 });
app.get('/', { schema: { response: { 200: item } } }, async () => ({ id: 1, name: 'one of many' }));
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server);

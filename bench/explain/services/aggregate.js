// Asks two services at once, of 20 and 60 ms, and puts the answers together, in Fastify.
import { Agent, get } from 'node:http';
import fastify from 'fastify';
import { startDependency } from '../dependencies/start.js';

const ports = await Promise.all([20, 60].map((ms) => startDependency('http', { ms })));
const agent = new Agent({ keepAlive: true });

const ask = (port) =>
  new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', agent }, (answer) => {
      answer.setEncoding('utf8').on('data', (text) => resolve(JSON.parse(text)));
    });
    request.on('error', reject);
  });

const app = fastify();
app.get('/', async () => ({ parts: await Promise.all(ports.map(ask)) }));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });

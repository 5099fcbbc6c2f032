// Thumbnails. Scaling blocked the loop, so it went to a worker thread (the incident of March 3rd); the loop has been
// idle since, and the dashboard green.
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import Fastify from 'fastify';

const SIDE = 768;
const THUMBNAIL = 96;

/** Box filter on RGBA, with the gamma that the designers asked for. */
function scale(image) {
  const result = new Uint8Array(THUMBNAIL * THUMBNAIL * 4);
  const box = SIDE / THUMBNAIL;
  for (let y = 0; y < THUMBNAIL; y++) {
    for (let x = 0; x < THUMBNAIL; x++) {
      for (let channel = 0; channel < 4; channel++) {
        let sum = 0;
        for (let dy = 0; dy < box; dy++) {
          for (let dx = 0; dx < box; dx++) {
            const value = image[((y * box + dy) * SIDE + x * box + dx) * 4 + channel];
            sum += channel === 3 ? value : Math.sqrt(value * value * 0.98 + dx);
          }
        }
        result[(y * THUMBNAIL + x) * 4 + channel] = sum / (box * box);
      }
    }
  }
  return result;
}

function work() {
  const photo = new Uint8Array(SIDE * SIDE * 4);
  for (let index = 0; index < photo.length; index++) photo[index] = (index * 31) & 255;
  parentPort.on('message', ({ id }) => parentPort.postMessage({ id, result: scale(photo) }));
  parentPort.postMessage({ ready: true });
}

async function serve() {
  const size = process.env.REMEDY === '1' ? availableParallelism() : 1;
  const jobs = new Map();
  const workers = Array.from({ length: size }, () => new Worker(new URL(import.meta.url)));
  const ready = workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)));
  await Promise.all(ready);
  for (const worker of workers) {
    worker.on('message', ({ id, result }) => {
      jobs.get(id)(result);
      jobs.delete(id);
    });
  }
  let last = 0;
  const thumbnail = () =>
    new Promise((resolve) => {
      const id = ++last;
      jobs.set(id, resolve);
      workers[id % size].postMessage({ id });
    });

  const app = Fastify();
  app.get('/', async (_request, reply) => {
    const pixels = await thumbnail();
    return reply.type('application/octet-stream').send(Buffer.from(pixels.buffer));
  });
  await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
}

if (isMainThread) await serve();
else work();

// A log-in with scrypt, which runs on libuv's threads, in Express.
import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import express from 'express';

const hash = promisify(scrypt);
const N = process.env.REMEDY === '1' ? 2048 : 16_384;

const app = express();
app.get('/', async (_request, response) => {
  const key = await hash('password', 'salt', 32, { N });
  response.json({ key: key.toString('hex') });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

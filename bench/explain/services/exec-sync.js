// Runs a program for each request and waits for its end, on the main thread; it takes 20 ms and no CPU. Express.
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import express from 'express';

const run = process.env.REMEDY === '1' ? promisify(execFile) : execFileSync;

const app = express();
app.get('/', async (_request, response) => {
  await run('sleep', ['0.02']);
  response.send('done\n');
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

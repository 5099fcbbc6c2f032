// The same by fetch and in Express: one in twenty takes 3 s, the others 20 ms; the remedy gives up after 100 ms.
import express from 'express';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 20, slow: 0.05, slowMs: 3000 });
const signal = () => (process.env.REMEDY === '1' ? AbortSignal.timeout(100) : undefined);

const ask = async () => {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: signal() });
  return answer.json();
};

const app = express();
app.get('/', async (_request, response) => {
  response.json(await ask().catch(() => ({ value: null })));
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

// Signs and checks a token, sorts, and renders, a little of each; by as many processes as WORKERS says.
import cluster from 'node:cluster';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

const workers = Number(process.env.WORKERS ?? 1);
const sign = (text) => createHmac('sha512', 'secret').update(text).digest('base64');

function page(requests) {
  const names = Array.from({ length: 200 }, (_, i) => `${(i * 7919 + requests) % 1009}`);
  const sorted = names.toSorted((a, b) => a.localeCompare(b));
  const token = sorted.slice(0, 50).reduce((text, name) => sign(text + name), '');
  return JSON.stringify({
    token,
    rows: sorted.map((name, i) => ({ name, upper: name.padEnd(20), i })),
  });
}

let requests = 0;
if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = createServer((_request, response) => {
    response.end(page(++requests));
  });
  server.listen(process.env.PORT ?? 0, '127.0.0.1');
}

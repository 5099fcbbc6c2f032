// Answers at once with a short text, over HTTP or HTTPS, in one process or several.
//
//   node hello.mjs
//   TLS=1 node hello.mjs              with a certificate for localhost that nobody trusts
//   PROCESSES=4 node hello.mjs        by node:cluster
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

const { TLS, PROCESSES = '1', PORT = '0' } = process.env;

function hello(_, response) {
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.end('Hello, world!\n');
}

function serve() {
  const read = (name) => readFileSync(new URL(`localhost-${name}.pem`, import.meta.url));
  const server =
    TLS === '1'
      ? createSecureServer({ cert: read('cert'), key: read('key') }, hello)
      : createServer(hello);
  server.listen(Number(PORT), '127.0.0.1', () => {
    console.log(`http${TLS === '1' ? 's' : ''}://127.0.0.1:${server.address().port}/`);
  });
}

if (Number(PROCESSES) > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < Number(PROCESSES); worker += 1) cluster.fork();
} else {
  serve();
}

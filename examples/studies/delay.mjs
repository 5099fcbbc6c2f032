// Answers each request after a while, as a service does that waits for another one.
//
//   DELAY_MS=50 node delay.mjs          after 50 ms
//   DELAY_MS=0-1000 node delay.mjs      after a random time, evenly spread
//   DELAY_MS=0 node delay.mjs           at once
import { createServer } from 'node:http';

const [least, most = least] = (process.env.DELAY_MS ?? '50').split('-').map(Number);

const server = createServer((_, response) => {
  const answer = () => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end('Hello, world!\n');
  };
  if (most === 0) answer();
  else setTimeout(answer, least + Math.random() * (most - least));
});

server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});

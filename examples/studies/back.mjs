// A service that answers after a while, and now and then after a very long one.
//
//   DELAY_MS=100 node back.mjs                                  always after 100 ms
//   DELAY_MS=100 SLOW_EVERY=10 SLOW_MS=10000 node back.mjs      each tenth after 10 s
import { createServer } from 'node:http';

const { DELAY_MS = '100', SLOW_EVERY = '0', SLOW_MS = '10000', PORT = '0' } = process.env;
let requests = 0;

const server = createServer((_, response) => {
  requests += 1;
  const isSlow = Number(SLOW_EVERY) > 0 && requests % Number(SLOW_EVERY) === 0;
  setTimeout(() => response.end('answer\n'), Number(isSlow ? SLOW_MS : DELAY_MS));
});

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});

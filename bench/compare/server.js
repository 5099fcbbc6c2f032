// An HTTP server that computes for a while per request: `node server.js UNITS`. It prints its port.
import { createServer } from 'node:http';

const units = Number(process.argv[2]);
/** The result, which must be kept: work without one could be optimized away. */
let result = 1;

/** Computes something that takes the same time for each unit. */
function compute() {
  let value = result;
  for (let i = 0; i < units; i++) value = (Math.imul(value, 1664525) + 1013904223) | 0;
  return value;
}

const server = createServer((_, response) => {
  result = compute();
  response.end('computed');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

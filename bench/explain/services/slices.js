// Works on an import in slices of about 4 ms, politely one in each turn of the loop; but a turn accepts one connection.
import { createServer } from 'node:http';
import { compute } from '../compute.js';

function slice() {
  compute(4);
  setImmediate(slice);
}
slice();

const server = createServer((_request, response) => {
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

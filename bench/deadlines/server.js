// Answers at once with a body of BYTES bytes, except for each Nth request; prints its port.
//
//   server.js [BYTES [N]]
import { createServer } from 'node:http';

const [bytes = 5, never = Number.POSITIVE_INFINITY] = process.argv.slice(2).map(Number);
const body = 'x'.repeat(bytes);
let asked = 0;
const server = createServer((_request, response) => {
  if (++asked % never !== 0) response.end(body);
});
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', 4096, () => console.log(server.address().port));

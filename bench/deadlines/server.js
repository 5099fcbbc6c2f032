// Answers at once, with a number N all but every Nth request; prints its port.
import { createServer } from 'node:http';

const never = Number(process.argv[2] ?? Number.POSITIVE_INFINITY);
let asked = 0;
const server = createServer((_request, response) => {
  if (++asked % never !== 0) response.end('hello');
});
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', 4096, () => console.log(server.address().port));

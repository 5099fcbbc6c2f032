// Nothing but Node's own work for a request.
import { createServer } from 'node:http';

const server = createServer((_request, response) => {
  response.end('hello world\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

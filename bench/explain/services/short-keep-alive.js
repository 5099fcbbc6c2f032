// Ends connections that were idle for 100 ms.
import { createServer } from 'node:http';

const server = createServer((_request, response) => {
  response.end('done\n');
});
server.keepAliveTimeout = process.env.REMEDY === '1' ? 5000 : 100;
server.listen(process.env.PORT ?? 0, '127.0.0.1');

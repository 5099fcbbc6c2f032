// Answers at once; prints its port.
import { createServer } from 'node:http';

const server = createServer((_request, response) => response.end('hello'));
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

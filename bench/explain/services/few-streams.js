// Answers after 20 ms over HTTP/2, and allows four streams per connection.
import { createServer } from 'node:http2';

const maxConcurrentStreams = process.env.REMEDY === '1' ? 1000 : 4;
const server = createServer({ settings: { maxConcurrentStreams } }, (_request, response) => {
  setTimeout(() => response.end('done\n'), 20);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

// `/slow` takes 200 ms, everything else none.
import { createServer } from 'node:http';

const server = createServer(({ url }, response) => {
  if (url === '/slow') setTimeout(() => response.end('slow\n'), 200);
  else response.end('fast\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

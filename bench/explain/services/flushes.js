// Sends a list of 50 entries one by one, each in a turn of its own, so that each is a write.
import { createServer } from 'node:http';

const lines = Array.from({ length: 50 }, (_, i) => `entry ${i}\n`);

function send(response, index) {
  if (index === lines.length) return response.end();
  response.write(lines[index]);
  setImmediate(send, response, index + 1);
}

const server = createServer((_request, response) => {
  if (process.env.REMEDY === '1') response.end(lines.join(''));
  else send(response, 0);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

// Four ways to answer a request with its own body. With NO_DELAY=0 as Node was until version 18.
//
//   MODE=pipe|buffer|chunks|readable NO_DELAY=0|1 node echo.mjs
import { createServer } from 'node:http';

const modes = {
  pipe(request, response) {
    request.pipe(response);
  },

  buffer(request, response) {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      response.write(Buffer.concat(chunks));
      response.end();
    });
  },

  chunks(request, response) {
    request.on('data', (chunk) => response.write(chunk));
    request.on('end', () => response.end());
  },

  readable(request, response) {
    const chunks = [];
    request.on('readable', () => {
      for (let chunk = request.read(2048); chunk !== null; chunk = request.read(2048)) {
        chunks.push(chunk);
      }
    });
    request.on('end', () => response.end(Buffer.concat(chunks)));
  },
};

const { MODE = 'pipe', NO_DELAY = '1', PORT = '0' } = process.env;
const server = createServer({ noDelay: NO_DELAY !== '0' }, modes[MODE]);

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});

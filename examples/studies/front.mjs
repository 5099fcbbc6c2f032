// Asks another service, and passes its answer on. It sets no time limit: that is the study.
//
//   BACK=http://127.0.0.1:3001/ node front.mjs
//   BACK=http://127.0.0.1:3001/ node --import millrace/deadlines/register front.mjs
import { createServer } from 'node:http';

const { BACK, PORT = '0' } = process.env;

const server = createServer(async (_, response) => {
  try {
    const answer = await fetch(BACK);
    response.end(await answer.text());
  } catch (error) {
    response.writeHead(500);
    response.end(`${error.cause?.message ?? error.message}\n`);
  }
});

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});

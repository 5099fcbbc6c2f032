// Stands for the payment service of somebody else: each answer takes 30 ms.
import { createServer } from 'node:http';

const ANSWER_MS = 30;
let count = 0;

const server = createServer((request, response) => {
  request.resume();
  setTimeout(() => {
    count += 1;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ receipt: `r-${count}` }));
  }, ANSWER_MS);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

// Answers each request after a while with its number, and prints how many are in progress.
//
//   DELAY_MS=50 node in-progress.mjs          after 50 ms
//   DELAY_MS=0-1000 node in-progress.mjs      after a random time, evenly spread
import { createServer } from 'node:http';

const [least, most = least] = (process.env.DELAY_MS ?? '50').split('-').map(Number);
const EVERY_MS = 200;
let inProgress = 0;
let highest = 0;

const server = createServer((request, response) => {
  inProgress += 1;
  highest = Math.max(highest, inProgress);
  setTimeout(
    () => {
      inProgress -= 1;
      response.end(`${request.url.slice(1)}\n`);
    },
    least + Math.random() * (most - least),
  );
});

server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
  setInterval(() => {
    console.log(`in progress ${inProgress}, at most ${highest}`);
    highest = inProgress;
  }, EVERY_MS);
});

// Search suggestions. A job builds the index again 60 ms after it was built, which takes some 90 ms.
import { createServer } from 'node:http';

const WORDS = Array.from({ length: 3000 }, (_, id) => `${(id * 7919).toString(36)}${id}`);
const BUILD_MS = 90;
const PAUSE_MS = process.env.FIX === '1' ? 10_000 : 60;
let index = new Map();

function buildIndex() {
  const next = new Map();
  const until = performance.now() + BUILD_MS;
  while (performance.now() < until) {
    for (const word of WORDS) {
      const start = word.slice(0, 2);
      if (!next.has(start)) next.set(start, new Set());
      next.get(start).add(word);
    }
  }
  index = next;
  setTimeout(buildIndex, PAUSE_MS);
}
buildIndex();

function suggest(start) {
  return [...(index.get(start) ?? [])].toSorted().slice(0, 10);
}

let next = 0;
createServer((_request, response) => {
  next = (next + 1) % WORDS.length;
  response.end(JSON.stringify(suggest(WORDS[next].slice(0, 2))));
}).listen(process.env.PORT ?? 0, '127.0.0.1');

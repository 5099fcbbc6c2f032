// Looks for the nearest word by edit distance: one function takes nearly all the time.
import { createServer } from 'node:http';

const words = Array.from({ length: 1200 }, (_, i) => `${(i * 7919).toString(36)}-${i}`);

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}

function nearest(wanted) {
  return words.reduce(
    (best, word) => {
      const far = distance(wanted, word);
      return far < best.far ? { word, far } : best;
    },
    { far: Infinity },
  ).word;
}

const known = process.env.REMEDY === '1' ? nearest('recieve-42') : null;

const server = createServer((_request, response) => {
  response.end(known ?? nearest('recieve-42'));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

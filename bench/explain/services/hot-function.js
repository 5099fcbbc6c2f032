// Looks for the nearest word by edit distance, which takes most of the time, and signs the answer.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const words = Array.from({ length: 1200 }, (_, i) => `${(i * 7919).toString(36)}-${i}`);
const form = Buffer.alloc(1_000_000, 'x');

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
  let best = { far: Infinity };
  for (const word of words) {
    const far = distance(wanted, word);
    if (far < best.far) best = { word, far };
  }
  return best.word;
}

const sign = (word) => createHash('sha256').update(form).update(word).digest('hex');

const server = createServer((_request, response) => {
  response.end(sign(nearest('recieve-42')));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

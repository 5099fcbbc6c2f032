// A Map that grows by an entry of some 4 kB per request. Its retainer is the class that counts visits.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

class VisitLog {
  visits = new Map();

  add(number) {
    this.visits.set(number, new Visit(number));
  }

  clear() {
    this.visits.clear();
  }
}

class Visit {
  constructor(number) {
    this.number = number;
    this.steps = new Array(500).fill(number);
  }
}

const log = new VisitLog();
let number = 0;

createServer(async (_request, response) => {
  log.add(++number);
  if (process.env.FIX === '1' && number % 1000 === 0) log.clear();
  await delay(4);
  response.end('done\n');
}).listen(process.env.PORT ?? 0, '127.0.0.1');

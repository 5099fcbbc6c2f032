// A service that allocates 1 KiB per request at one line, and keeps it.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

// An array takes 32 bytes, its elements 16 bytes and 8 bytes each: 1024 bytes.
const LENGTH = (1024 - 32 - 16) / 8;
const MAX_KEPT = process.env.FIX === '1' ? 1000 : Number.POSITIVE_INFINITY;
const audit = [];

function record() {
  audit.push(new Array(LENGTH).fill(7));
  if (audit.length > MAX_KEPT) audit.length = 0;
}

createServer(async (_request, response) => {
  record();
  await delay(2);
  response.end('done\n');
}).listen(process.env.PORT ?? 0, '127.0.0.1');

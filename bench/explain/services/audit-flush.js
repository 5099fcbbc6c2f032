// An audit log: each request appends a line and flushes the file, and waits for both.
import { fsync, fsyncSync, mkdirSync, openSync, rmSync, write, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = join(tmpdir(), `audit-of-${process.ppid}`);
mkdirSync(directory, { recursive: true });
const log = openSync(join(directory, 'audit.log'), 'a');
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
process.on('SIGTERM', () => process.exit());
const line = `${JSON.stringify({ who: 'somebody', what: '/', note: 'x'.repeat(300) })}\n`;
let waiting = [];
let isFlushing = false;

/** Writes what was collected, flushes it once, and answers. */
function flush() {
  const answered = waiting;
  waiting = [];
  isFlushing = answered.length > 0;
  if (!isFlushing) return;
  write(log, line.repeat(answered.length), () =>
    fsync(log, () => {
      for (const response of answered) response.end('noted');
      flush();
    }),
  );
}
const isGrouped = process.env.REMEDY === '1';

createServer((_request, response) => {
  if (isGrouped) {
    waiting.push(response);
    if (!isFlushing) flush();
    return;
  }
  writeSync(log, line);
  fsyncSync(log);
  response.end('noted');
}).listen(process.env.PORT ?? 0, '127.0.0.1');

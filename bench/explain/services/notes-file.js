// Notes: each request adds one, and all of them are written to their file, which is read at the start.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = join(tmpdir(), `notes-of-${process.ppid}`);
mkdirSync(directory, { recursive: true });
const file = join(directory, 'notes');
let notes = existsSync(file) ? readFileSync(file, 'utf8') : '';
const appends = process.env.REMEDY === '1';

createServer((_request, response) => {
  const note = `a note ${'x'.repeat(90)}\n`;
  notes += note;
  if (appends) appendFileSync(file, note);
  else writeFileSync(file, notes);
  response.end('noted');
}).listen(process.env.PORT ?? 0, '127.0.0.1');

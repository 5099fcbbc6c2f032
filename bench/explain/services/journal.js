// Writes each request to a journal and waits until it is on the disk.
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const directory = mkdtempSync(join(process.cwd(), 'millrace-journal-'));
process.on('exit', () => rmSync(directory, { recursive: true }));
process.on('SIGTERM', () => process.exit());
const journal = await open(join(directory, 'journal'), 'a');

const server = createServer(async (_request, response) => {
  await journal.write('a record\n');
  if (process.env.REMEDY !== '1') await journal.sync();
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

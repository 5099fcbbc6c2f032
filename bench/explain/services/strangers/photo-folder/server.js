// An album: the photos of a folder with their sizes. The folder is read for each request, with synchronous calls.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';

const PHOTOS = 400;
const folder = mkdtempSync(join(tmpdir(), 'album-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
for (let id = 0; id < PHOTOS; id++) writeFileSync(join(folder, `photo-${id}.jpg`), 'x'.repeat(id));

const listPhotos = () =>
  readdirSync(folder).map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return { name, size, mtimeMs };
  });

const known = listPhotos();
const app = express();
app.get('/album', (_request, response) => {
  const photos = process.env.FIX === '1' ? known : listPhotos();
  const newest = photos.toSorted((a, b) => b.mtimeMs - a.mtimeMs).slice(0, 20);
  response.json({ photos: photos.length, newest });
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');

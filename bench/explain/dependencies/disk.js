// A slow disk, whose files are the named pipes 0 to `count` - 1 in `directory`: a write of a `block` takes `ms`, in
// which the writer's thread is blocked and needs no CPU. A block has to be larger than what a pipe takes at once
// (64 KiB).
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ready } from './ready.js';

const { ms, directory, count, block } = JSON.parse(process.argv[2]);

async function serve(path) {
  const file = await open(path, 'r');
  const buffer = Buffer.alloc(block);
  const read = async (most) => (await file.read(buffer, 0, most)).bytesRead;
  while ((await read(1)) > 0) {
    await delay(ms);
    for (let left = block - 1; left > 0; left -= await read(left));
  }
}
for (let i = 0; i < count; i++) serve(join(directory, `${i}`));
ready();

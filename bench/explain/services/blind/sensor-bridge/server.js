// Readings of sensors that are named pipes.
'use strict';
if (process.env.FIX === '1') process.env.UV_THREADPOOL_SIZE = '48';
const fs = require('node:fs');
const fsp = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');
const { fork, execFileSync } = require('node:child_process');
const fastify = require('fastify')();

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sensors-'));
const pipes = Array.from({ length: 40 }, (_, i) => path.join(dir, `s${i}`));
execFileSync('mkfifo', pipes);
const gateway = fork(path.join(__dirname, 'gateway.js'));
gateway.send(pipes);

function bye() {
  gateway.kill('SIGKILL');
  fs.rmSync(dir, { recursive: true, force: true });
  process.kill(process.pid, 'SIGKILL'); // readers may sit in open(2)
}
process.on('SIGTERM', bye);
process.on('SIGINT', bye);

// one reader per sensor at a time
const busy = new Map();
let next = 0;
async function reading(i) {
  while (busy.has(i)) await busy.get(i);
  const p = (async () => {
    const h = await fsp.open(pipes[i], 'r');
    try {
      const { buffer, bytesRead } = await h.read(Buffer.alloc(64), 0, 64);
      return parseFloat(buffer.toString('latin1', 0, bytesRead));
    } finally {
      await h.close();
    }
  })();
  busy.set(
    i,
    p.catch(() => {}),
  );
  try {
    return await p;
  } finally {
    busy.delete(i);
  }
}

fastify.get('/reading', async () => {
  const i = next++ % pipes.length;
  return { sensor: i, celsius: await reading(i) };
});

gateway.once('message', () =>
  fastify.listen({ port: Number(process.env.PORT) || 3002, host: '127.0.0.1' }),
);

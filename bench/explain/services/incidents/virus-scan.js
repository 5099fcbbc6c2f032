// Attachments are scanned before they are handed out. The scanner is a command: it waits for the daemon, which is
// shared with the mail server, and prints a verdict.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import express from 'express';

// As `clamdscan --stream -`, with the daemon's usual 120 ms.
const SCANNER = ['-c', 'cat > /dev/null; sleep 0.12; echo "stream: OK"'];
// Ten scanners at once took the machine down when each loaded its own signatures. They have used the daemon since.
const MAX_SCANNERS = process.env.REMEDY === '1' ? 40 : 2;

const attachments = Array.from({ length: 20 }, (_, id) =>
  Buffer.from(`attachment ${id}\n`.repeat(300)),
);

class Gate {
  #free;
  #waiting = [];

  constructor(permits) {
    this.#free = permits;
  }

  async enter() {
    if (this.#free > 0) this.#free--;
    else await new Promise((resolve) => this.#waiting.push(resolve));
  }

  leave() {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

const gate = new Gate(MAX_SCANNERS);

async function scan(content) {
  await gate.enter();
  try {
    const scanner = spawn('/bin/sh', SCANNER, { stdio: ['pipe', 'pipe', 'ignore'] });
    const closed = once(scanner, 'close');
    let verdict = '';
    scanner.stdout.setEncoding('utf8').on('data', (text) => {
      verdict += text;
    });
    scanner.stdin.end(content);
    const [code] = await closed;
    if (code !== 0) throw new Error(`the scanner ended with ${code}`);
    return verdict.trim().endsWith('OK');
  } finally {
    gate.leave();
  }
}

let next = 0;
const app = express();
app.get('/', async (_request, response) => {
  const content = attachments[next++ % attachments.length];
  if (!(await scan(content))) return response.status(403).end();
  response.type('text/plain').send(content);
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

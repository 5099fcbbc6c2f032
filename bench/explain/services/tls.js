// A hello world over TLS, with a certificate of 2048 bits RSA.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate } from '../../servers/certificates.js';

const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const files = createCertificate('rsa', directory);
const [cert, key] = [files.cert, files.key].map((file) => readFileSync(file));
rmSync(directory, { recursive: true });

const server = createServer({ cert, key }, (_request, response) => {
  response.end('hello world\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

// The bare server and the bare client of bench/native.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readCpuNs } from '../harness/proc.js';
import { end, start } from '../harness/processes.js';

const crate = fileURLToPath(new URL('.', import.meta.url));

/** Finds the path of a binary of bench/native. */
export function findNativeBinary(name) {
  return join(crate, 'target', 'release', name);
}

/** Builds the binaries of bench/native. */
export function buildNative() {
  execFileSync('cargo', ['build', '--release', '--quiet', '--locked'], {
    cwd: crate,
    stdio: 'inherit',
  });
}

/**
 * Starts the bare server, which speaks `protocol` (`http1`, `http2` or `grpc`). Its responses have a body of `bodyBytes` or
 * of `json`. `tls` is a certificate's pair of files; with `stamp` the server spins and `stop()` returns the times at which
 * requests arrived.
 */
export async function startBareServer(options) {
  const { cores, directory, protocol = 'http1', threads = 1, bodyBytes = 12, json } = options;
  const { tls, stamp = false } = options;
  const countFile = join(directory, 'counts');
  const stampFile = join(directory, 'stamps');
  const argv = [findNativeBinary('bare-server'), '--protocol', protocol];
  argv.push('--threads', `${threads}`, '--count', countFile);
  argv.push(...(json ? ['--json', JSON.stringify(json)] : ['--body', `${bodyBytes}`]));
  if (tls) argv.push('--cert', tls.cert, '--key', tls.key);
  if (stamp) argv.push('--stamp', stampFile);
  const child = start(argv, cores);
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) throw new Error('bare-server did not start');
  const { port } = JSON.parse(first.value);
  const counts = openSync(countFile, 'r');
  const buffer = Buffer.alloc(40);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    port,
    cert: tls?.cert,
    /** Counts of the server so far, with the time of the reading. */
    async sample() {
      readSync(counts, buffer, 0, buffer.length, 0);
      const [requests, connections, tlsFull, tlsResumed] = readIntegers(buffer);
      const ns = Number(process.hrtime.bigint());
      return {
        ns,
        requests,
        connections,
        tlsFull,
        tlsResumed,
        serverCpuNs: readCpuNs([child.pid]),
      };
    },
    /** Stops the server; returns `{ requests, ..., firstRequestNs, stamps }`. */
    async stop() {
      end(child);
      const totals = JSON.parse((await lines.next()).value);
      await child.exited;
      closeSync(counts);
      return { ...totals, stamps: stamp ? readIntegers(readFileSync(stampFile)) : null };
    },
  };
}

function readIntegers(buffer) {
  return Array.from({ length: buffer.length / 8 }, (_, i) => Number(buffer.readBigUInt64LE(i * 8)));
}

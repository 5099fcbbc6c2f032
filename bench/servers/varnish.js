import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePorts } from '../../dist/process/listening/free-port.js';
import { listDescendants, readCpuNs } from '../harness/proc.js';
import { collect, end, errorLine, start } from '../harness/processes.js';

/** Reads the version of Varnish; null if it is not installed. */
export function readVarnishVersion() {
  const { stdout, stderr } = spawnSync('varnishd', ['-V'], { encoding: 'utf8' });
  return /varnish-\S+/.exec(`${stdout}${stderr}`)?.[0] ?? null;
}

/** Starts Varnish, which answers all but the first request from its memory. */
export async function startVarnish({ cores, directory }) {
  const origin = await startOrigin();
  const [port] = await findFreePorts(1);
  const vcl = join(directory, 'varnish.vcl');
  writeFileSync(vcl, buildConfiguration(origin.address().port));
  // Without its jail, as another user could not read our files.
  const argv = [
    '-j',
    'none',
    '-F',
    '-n',
    join(directory, 'varnish'),
    '-f',
    vcl,
    '-a',
    `127.0.0.1:${port}`,
  ];
  // One pool of threads, as there is one core; nothing reads its log in memory.
  const settings = ['-s', 'malloc,64m', '-p', 'thread_pools=1', '-p', 'thread_pool_min=100'];
  const child = start(['varnishd', ...argv, ...settings], cores);
  const said = collect(child.stderr);
  child.stdout.resume();
  const url = `http://127.0.0.1:${port}/`;
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`varnishd did not start: ${errorLine(said())}`);
    await delay(10);
  }
  return {
    url,
    port,
    /** CPU time of its processes so far. */
    async sample() {
      return { serverCpuNs: readCpuNs([child.pid, ...listDescendants(child.pid)]) };
    },
    async stop() {
      end(child);
      await child.exited;
      origin.close();
      return {};
    },
  };
}

/** Starts the origin server, whose only response is cached. */
async function startOrigin() {
  const origin = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/plain');
    response.end('hello world\n');
  });
  await new Promise((resolve) => origin.listen(0, '127.0.0.1', resolve));
  return origin;
}

function buildConfiguration(originPort) {
  return `vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${originPort}"; }
sub vcl_backend_response { set beresp.ttl = 1h; }
`;
}

function answers(url) {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200));
    }).on('error', () => resolve(false));
  });
}

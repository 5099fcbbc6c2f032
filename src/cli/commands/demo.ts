import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../process/listening/free-port.js';
import type { Invocation } from '../flags/load/invocation.js';

const MILLRACE = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));

/** Makes the demo the target: the test server in a process of its own. Returns the introduction for the user. */
export async function prepareDemo(invocation: Invocation): Promise<string> {
  // Chosen here, as not every system says on which port a process listens.
  const port = await findFreePort();
  const serve = ['testserver', '--processes', '1', '--delay', '50ms', '--port', String(port)];
  invocation.demo = true;
  invocation.options = {
    connections: 20,
    duration: '5s',
    warmup: '1s',
    ...invocation.options,
    command: [process.execPath, MILLRACE, ...serve],
    url: `http://127.0.0.1:${port}/`,
  };
  return 'A demo, as no target is given: the built-in test server answers after 50 ms, in a process of its own.\n';
}

export const NEXT_STEPS = `
That was a demo. Next, a server of yours:
  npx millrace -c 50 -d 10s http://127.0.0.1:8080/   flat out, 50 connections
  npx millrace -R 500 -d 10s -- node server.js       500 a second; starts and stops it
  npx millrace explain -- node server.js             why not more? by experiment
  npx millrace --help`;

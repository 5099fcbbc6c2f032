// What clients in a process of their own get while the event loop of the server, this process, is blocked.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A client of busy-client.js; `next` gives what it says next, `go` lets it go on. */
export function startClient(t, port, what) {
  const script = new URL('busy-client.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, port, what], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    next: async () => JSON.parse((await lines.next()).value),
    // Leaves at once, also if the loop is blocked from here on.
    go: () => child.stdin.write('go\n'),
  };
}

/** Blocks the event loop; gives until when, by the system's clock. */
export function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return Date.now();
}

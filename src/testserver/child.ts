// The program of the test server's child processes. It has no arguments: commands arrive over the IPC channel of the parent
// process, and the process ends with the channel.
import cluster from 'node:cluster';
import type { ServerCommand, ServerReport } from './remote.js';
import { type RunningServer, serve } from './serve.js';
import { killWorkers, serveInWorkers } from './workers.js';

let server: RunningServer | undefined;

process.on('message', async (question: ServerCommand) => {
  const report = await execute(question).catch(toErrorReport);
  if (process.connected) process.send?.(report);
});

process.once('disconnect', async () => {
  await server?.close();
  killWorkers();
  process.exit();
});

// The channel closed before any command arrived.
process.on('error', () => process.exit());

// Node may drop messages that are sent to a worker before this file has run.
process.send?.({ ready: true } satisfies ServerReport);

// A terminal sends Ctrl-C to all its processes; the parent may still need this server.
process.on('SIGINT', () => {});

// A worker that ends loses its connections, which invalidates every result with this server.
cluster.on('exit', () => {
  if (server !== undefined && process.connected) process.exit(1);
});

async function execute(question: ServerCommand): Promise<ServerReport> {
  if ('serve' in question) {
    const plan = question.serve;
    server = await (plan.processes === 1 ? serve(plan) : serveInWorkers(plan));
    return { listening: { port: server.port, pids: server.pids } };
  }
  return { requests: (await server?.requests()) ?? 0 };
}

function toErrorReport({ message, code }: NodeJS.ErrnoException): ServerReport {
  return { error: { message, code } };
}

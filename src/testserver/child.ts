// The program of the processes that serve. It has no arguments: what to do comes over the channel to the process that
// started it, and with the channel it ends.
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

// The channel is gone before this process could be asked anything: there is nothing to do.
process.on('error', () => process.exit());

// Node may drop what is sent to a worker before this file has run.
process.send?.({ ready: true } satisfies ServerReport);

// Ctrl-C goes to all processes of a terminal: the one that started this server may still be at work with it.
process.on('SIGINT', () => {});

// A worker that ended took connections with it: no result with this server is worth anything.
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

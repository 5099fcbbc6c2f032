import cluster from 'node:cluster';
import type { TestServerPlan } from './options.js';
import { serveInChild } from './remote.js';
import type { RunningServer } from './serve.js';

/**
 * Serves the plan in several processes on one port. This process distributes the connections round-robin. Node gives all
 * workers of a cluster the same session ticket keys, so each resumes the sessions of the others.
 */
export async function serveInWorkers(plan: TestServerPlan): Promise<RunningServer> {
  // With one request per connection an even distribution matters less, and workers that accept themselves are faster.
  if (plan.close) cluster.schedulingPolicy = cluster.SCHED_NONE;
  const workers = Array.from({ length: plan.processes }, () => cluster.fork());
  // Sending to a worker that ends emits an error for each attempt; its exit is observed on its process.
  for (const worker of workers) worker.on('error', () => {});
  const starting = workers.map((it) => serveInChild(it.process, { ...plan, processes: 1 }));
  const servers = await Promise.all(starting).catch((error) => {
    killWorkers();
    throw error;
  });
  return {
    port: servers[0]?.port ?? null,
    pids: servers.flatMap((server) => server.pids),
    exited: Promise.race(servers.map((server) => server.exited)),
    async requests() {
      const counts = await Promise.all(servers.map((server) => server.requests()));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** Kills the workers that are left. One that is still starting would print a stack trace when its channel is gone. */
export function killWorkers(): void {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
}

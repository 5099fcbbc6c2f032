import cluster from 'node:cluster';
import type { TestServerPlan } from './options.js';
import { serveInChild } from './remote.js';
import type { RunningServer } from './serve.js';

/**
 * Serves the plan in several processes on one port, started from this one, which hands out the connections in turn. Node
 * gives the workers of a cluster the same keys for session tickets: each resumes the sessions of all.
 */
export async function serveInWorkers(plan: TestServerPlan): Promise<RunningServer> {
  // Connections of one request need no even shares, and are accepted faster by the workers themselves.
  if (plan.close) cluster.schedulingPolicy = cluster.SCHED_NONE;
  const workers = Array.from({ length: plan.processes }, () => cluster.fork());
  // What cannot be sent to one that ends is told as an error, as often as it is tried; that it ends is told by its process.
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

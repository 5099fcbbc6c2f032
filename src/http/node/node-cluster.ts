import type { Cluster } from 'node:cluster';

/** Returns Node's own `cluster`; not imported, as Node itself loads it only when a first server listens. */
export function nodeCluster(): Cluster {
  return process.getBuiltinModule('node:cluster') as unknown as Cluster;
}

import cluster from 'node:cluster';
import http from 'node:http';
import type { ListeningWorker } from './listening-workers.cjs';
import type { Hello } from './protocol.cjs';

/** Who this process is. */
export function hello(serving: boolean, listeningWorkers: ListeningWorker[]): Hello {
  const { pid, ppid, version, argv, execArgv, title } = process;
  const { millraceVersion } = http as { millraceVersion?: string };
  return {
    type: 'hello',
    pid,
    ppid,
    nodeVersion: version,
    argv,
    execArgv,
    title,
    clusterRole: cluster.isWorker ? 'worker' : 'primary',
    // Code may set it before the first job, which starts the pool.
    threadPoolSize: process.env.UV_THREADPOOL_SIZE ?? null,
    maxSemiSpaceMb: maxSemiSpaceMb(),
    stack: millraceVersion ?? null,
    serving,
    listeningWorkers,
  };
}

function maxSemiSpaceMb(): number | null {
  const flags = [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ');
  const given = flags.match(/--max[-_]semi[-_]space[-_]size[= ](\d+)/g)?.at(-1);
  return given ? Number(given.replace(/^\D+/, '')) : null;
}

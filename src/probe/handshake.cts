import cluster from 'node:cluster';
import http from 'node:http';
import type { ListeningWorker } from './process/listening-workers.cjs';
import type { Hello } from './protocol.cjs';

/** Builds the message that introduces this process. */
export function buildHello(serving: boolean, listeningWorkers: ListeningWorker[]): Hello {
  const { pid, ppid, version, argv, execArgv, title } = process;
  const { millraceVersion } = http as { millraceVersion?: string };
  const maxSemiSpaceMb = readSemiSpaceFlag();
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
    maxSemiSpaceMb,
    semiSpaceMb: maxSemiSpaceMb ?? getDefaultSemiSpaceMb(),
    stack: millraceVersion ?? null,
    serving,
    listeningWorkers,
  };
}

function readSemiSpaceFlag(): number | null {
  const flags = [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ');
  const flag = flags.match(/--max[-_]semi[-_]space[-_]size[= ](\d+)/g)?.at(-1);
  return flag ? Number(flag.replace(/^\D+/, '')) : null;
}

function getDefaultSemiSpaceMb(): number {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 24) return 16;
  return major < 26 ? 64 : 32;
}

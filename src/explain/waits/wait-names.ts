import type { WaitSource } from '../../probe/protocol.cjs';

/** Drivers of databases, with what they speak to. */
const DRIVERS: Record<string, string> = {
  pg: 'PostgreSQL',
  'pg-pool': 'PostgreSQL',
  postgres: 'PostgreSQL',
  mysql: 'MySQL',
  mysql2: 'MySQL',
  mariadb: 'MariaDB',
  mongodb: 'MongoDB',
  ioredis: 'Redis',
  redis: 'Redis',
  '@redis/client': 'Redis',
  tedious: 'SQL Server',
  'cassandra-driver': 'Cassandra',
  memjs: 'Memcached',
};

/** Packages by what a caller waits for; any other gives promises of its own. */
const LOCKS = new Set(['async-mutex', 'async-lock', 'await-lock', 'mutexify', 'async-sema']);
const LIMITERS = new Set(['p-limit', 'p-queue', 'bottleneck', 'fastq', 'limiter']);
const POOLS = new Set(['pg-pool', 'generic-pool', 'tarn', 'mysql2', 'mysql', 'mariadb']);

/** Resources of Node.js that run in the thread pool, by their names without the ending. */
const POOL_JOB =
  /^(ZLIB|PBKDF2|SCRYPT|HKDF|RANDOM\w*|KEYPAIRGEN|KEYGEN|SIGN|CIPHER|HASH|DERIVEBITS|CHECKPRIME)/;
const JOB_NAMES: Record<string, string> = {
  ZLIB: 'compression',
  RANDOMBYTES: 'random bytes',
  RANDOMPRIME: 'random primes',
  KEYPAIRGEN: 'key generation',
  KEYGEN: 'key generation',
};

/** The code that waits, innermost first, as far as names depend on it. */
export interface WaitingCode {
  /** Packages within the service's own innermost function. */
  packages: readonly string[];
  /** The function of Node.js that was called from outside; `null` if unknown. */
  nodeFunction: string | null;
}

/** Names what a request waits for. */
export function nameWait({ kind, target, phase }: WaitSource, code: WaitingCode): string {
  switch (kind) {
    case 'http':
      return `${target || 'HTTP'}: ${namePhase(phase)}`;
    case 'connect':
      return `connecting to ${target || 'a program'}`;
    case 'dns':
      return target ? `DNS: ${target}` : 'DNS';
    case 'file':
      return code.nodeFunction ? `file system: ${code.nodeFunction}` : 'file system';
    case 'timer':
      return 'timer';
    case 'loop':
      return 'next turn of the event loop';
    case 'body':
      return 'body of the request';
    case 'worker':
      return 'message of a worker thread';
    case 'resource':
      return nameResource(target);
    case 'socket':
      return nameAnswer(target, code);
    case 'promise':
      return namePromise(target, phase, code);
    case 'unseen':
      return 'not attributed';
  }
}

function namePhase(phase: WaitSource['phase']): string {
  if (phase === 'connection') return 'a connection';
  return phase === 'body' ? 'rest of the answer' : 'answer';
}

function nameResource(type: string): string {
  const job = POOL_JOB.exec(type)?.[0];
  if (job) return `thread pool: ${JOB_NAMES[job] ?? job.toLowerCase()}`;
  return type.replace(/(REQ)?WRAP$/, '').toLowerCase();
}

/**
 * Tells what was waited for with the code known. Bytes that settle a promise count only with a driver of that connection:
 * a lock is released by code that was continued by bytes for another request.
 */
export function refineSource(source: WaitSource, code: WaitingCode): WaitSource {
  const isOfOther = source.kind === 'promise' && findDriver(code) === undefined;
  return isOfOther ? { kind: 'promise', target: '', phase: '' } : source;
}

function findDriver({ packages }: WaitingCode): string | undefined {
  return packages.find((name) => Object.hasOwn(DRIVERS, name));
}

function nameAnswer(target: string, code: WaitingCode): string {
  const driver = findDriver(code);
  const peer = target || 'a socket';
  return driver ? `${DRIVERS[driver]} ${peer} (${nameDriver(driver)}): answer` : `${peer}: answer`;
}

/** The driver that a pool is a part of. */
function nameDriver(name: string): string {
  return name === 'pg-pool' ? 'pg' : name;
}

/** Names what a promise stands for. */
function namePromise(target: string, phase: WaitSource['phase'], code: WaitingCode): string {
  const driver = findDriver(code);
  if (driver && phase === 'answer') return nameAnswer(target, code);
  const pool = code.packages.find((name) => POOLS.has(name)) ?? driver;
  if (pool) return `pool of ${nameDriver(pool)}: a connection`;
  const lock = code.packages.find((name) => LOCKS.has(name));
  if (lock) return `lock (${lock})`;
  const limiter = code.packages.find((name) => LIMITERS.has(name));
  if (limiter) return `limiter (${limiter})`;
  const [innermost] = code.packages;
  return innermost ? `promise of ${innermost}` : 'promise';
}

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

/** Packages whose promises stand for a lock, a limiter or a pool. */
const LOCKS = new Set(['async-mutex', 'async-lock', 'await-lock', 'mutexify', 'async-sema']);
const LIMITERS = new Set(['p-limit', 'p-queue', 'bottleneck', 'fastq', 'limiter']);
const POOLS = new Set(['pg-pool', 'generic-pool', 'tarn', 'mysql2', 'mysql', 'mariadb']);

/** Resources of Node.js that run in the thread pool, by their names without the ending. */
const POOL_JOB =
  /^(ZLIB|PBKDF2|SCRYPT|HKDF|RANDOMBYTES|RANDOMPRIME|KEYPAIRGEN|KEYGEN|SIGN|CIPHER|HASH|DERIVEBITS|CHECKPRIME)/;
const JOB_NAMES: Record<string, string> = {
  ZLIB: 'compression',
  RANDOMBYTES: 'random bytes',
  RANDOMPRIME: 'random primes',
  KEYPAIRGEN: 'key generation',
  KEYGEN: 'key generation',
};

/** The name of the waits of which no code was seen. */
export const NOT_ATTRIBUTED = 'not attributed';

/** The code that waits, innermost first, as far as names depend on it. */
export interface WaitingCode {
  /** Packages within the service's own innermost function. */
  packages: readonly string[];
  /** The function of Node.js that was called from outside; `null` if unknown. */
  nodeFunction: string | null;
  /** The module of Node.js that has this function, such as `node:fs`; `null` if unknown. */
  nodeModule: string | null;
}

/** The functions that start a program; their inner ones have other names. */
const STARTS_OF_PROGRAMS = /^(exec|execFile|fork|spawn)$/;

/** A queue in which a request waits until another one leaves. */
export interface Queue {
  kind: 'pool' | 'lock' | 'limiter';
  /** `pool of pg`, `http://there:80` (an agent's), `lock (async-mutex)`, `limiter (p-limit)`. */
  name: string;
}

/** Finds the queue in which a request waits; `null` if it waits for something else, or if the queue is of unknown code. */
export function findQueue({ kind, target, phase }: WaitSource, code: WaitingCode): Queue | null {
  if (kind === 'http' && phase === 'connection') return { kind: 'pool', name: target || 'HTTP' };
  const driver = findDriver(code);
  if (kind !== 'promise' || (driver && phase === 'answer')) return null;
  const pool = code.packages.find((name) => POOLS.has(name)) ?? driver;
  if (pool) return { kind: 'pool', name: `pool of ${nameDriver(pool)}` };
  const lock = code.packages.find((name) => LOCKS.has(name));
  if (lock) return { kind: 'lock', name: `lock (${lock})` };
  const limiter = code.packages.find((name) => LIMITERS.has(name));
  return limiter ? { kind: 'limiter', name: `limiter (${limiter})` } : null;
}

/** Names what a request waits for. */
export function nameWait(source: WaitSource, code: WaitingCode): string {
  const { kind, target, phase } = source;
  if (isOfProgram(source, code)) {
    const { nodeFunction } = code;
    const isKnown = nodeFunction !== null && STARTS_OF_PROGRAMS.test(nodeFunction);
    return isKnown ? `child process: ${nodeFunction}` : 'child process';
  }
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
      return namePromise(source, code);
    case 'unseen':
      return NOT_ATTRIBUTED;
  }
}

/** Whether the end of another program is waited for, or its output, which comes by a socket without an address. */
function isOfProgram({ kind, target }: WaitSource, { nodeModule }: WaitingCode): boolean {
  const isOutput = kind === 'socket' && target === '' && nodeModule === 'node:child_process';
  return isOutput || (kind === 'resource' && target === 'PROCESSWRAP');
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
 * Refines what was waited for by the code that waited. Bytes that settle a promise count only with a driver of that connection:
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
function namePromise(source: WaitSource, code: WaitingCode): string {
  const queue = findQueue(source, code);
  if (queue) return queue.kind === 'pool' ? `${queue.name}: a connection` : queue.name;
  if (source.phase === 'answer' && findDriver(code)) return nameAnswer(source.target, code);
  const [innermost] = code.packages;
  return innermost ? `promise of ${innermost}` : 'promise';
}

import { MAJOR } from '../node/node-version.js';

/*
 * Each part of a body has memory of its own outside of V8's heap. V8 collects its young generation when such memory comes to
 * 64 MB, which is also when it begins to mark the whole heap; since Node.js 22 the second often comes first, what has arrived
 * meanwhile survives, and so on: a server of nothing but large bodies then spends a third of its time on that
 * (docs/decisions/0010-v8-and-node-internals.md). A collection of the young generation takes some tenths of a millisecond and gives
 * back all that the application does not keep.
 */

/** Number of bytes of bodies after which the memory outside is looked at. */
const INTERVAL = 1024 * 1024;
/** Number of bytes by which it may grow; it shrinks only some time after a collection. */
const MAX_GROWTH = 3 * 1024 * 1024;
/** Whether the version of Node.js gains by it. */
const PAYS = MAJOR >= 22;

let bytes = 0;
/** Fewest bytes outside since the last collection. */
let least = Number.POSITIVE_INFINITY;
let collect: (() => void) | undefined;
/** Loaded with the first large body. */
let v8: typeof import('node:v8') | undefined;

/** Counts bytes of a body that the application was given, or has given. */
export function countBodyBytes(count: number): void {
  bytes += count;
  if (bytes >= INTERVAL && PAYS) checkGrowth();
}

/** What is sent again and again is no garbage: the memory does not grow by it. */
function checkGrowth(): void {
  bytes = 0;
  v8 ??= process.getBuiltinModule('node:v8');
  const outside = v8.getHeapStatistics().external_memory;
  least = Math.min(least, outside);
  if (outside - least < MAX_GROWTH) return;
  least = Number.POSITIVE_INFINITY;
  collect ??= findCollector();
  collect();
}

type Collect = (options: { type: 'minor' }) => void;

/** V8 offers it to contexts that are made while its flag is set; where that is not possible, nothing is collected. */
function findCollector(): () => void {
  try {
    const gc = findInNewContext() ?? findWithFlag();
    if (gc) return () => gc({ type: 'minor' });
  } catch {
    // The application forbids contexts or flags.
  }
  return () => {};
}

function findInNewContext(): Collect | undefined {
  const vm = process.getBuiltinModule('node:vm');
  return vm.runInNewContext('globalThis.gc') as Collect | undefined;
}

function findWithFlag(): Collect | undefined {
  const v8 = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--expose-gc');
  try {
    return findInNewContext();
  } finally {
    v8.setFlagsFromString('--no-expose-gc');
  }
}

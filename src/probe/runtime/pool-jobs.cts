import { createHook } from 'node:async_hooks';
import { pause } from './clock.cjs';

/** Kinds of asynchronous resources whose jobs run in the thread pool, by the names that `async_hooks` gives them. */
const POOL_RESOURCE =
  /^(FSREQ|FILEHANDLE|GETADDRINFO|GETNAMEINFO|ZLIB|PBKDF2|SCRYPT|HKDF|RANDOM|KEYPAIRGEN|KEYGEN|SIGN|CIPHER|HASH|DERIVEBITS|CHECKPRIME)/;

/** Counts for some time the resources that begin jobs in the thread pool, by kind. */
export async function countPoolJobs(ms: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const hook = createHook({
    init(_id, type) {
      if (POOL_RESOURCE.test(type)) counts[type] = (counts[type] ?? 0) + 1;
    },
  });
  hook.enable();
  try {
    await pause(ms);
  } finally {
    hook.disable();
  }
  return counts;
}

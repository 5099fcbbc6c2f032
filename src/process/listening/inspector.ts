import { once } from 'node:events';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import { findProcessTree } from '../discovery/process-tree.js';
import { readText } from '../procfs/procfs.js';
import type { Endpoint } from './types.js';

/**
 * Whether a process or a descendant may have opened a debugger, by its command line (`--inspect`) or its environment
 * (`NODE_OPTIONS`, variables of editors).
 */
export function mayHaveInspector(pid: number): boolean {
  return findProcessTree(pid).some((process) =>
    ['cmdline', 'environ'].some((file) =>
      /inspect/i.test(readText(`/proc/${process}/${file}`) ?? ''),
    ),
  );
}

const TIMEOUT_MS = 1000;

/** Whether a debugger listens on a port: it answers `/json/version` of the DevTools protocol. */
export async function isInspector({ host, port }: Endpoint): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const request = get({ host, port, path: '/json/version', agent: false, signal });
    const [response] = await once(request, 'response');
    const version: unknown = await json(response);
    return Object.hasOwn(version as object, 'Protocol-Version');
  } catch {
    // Another protocol, another answer, or none.
    return false;
  }
}

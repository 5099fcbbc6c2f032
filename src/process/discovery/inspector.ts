import { once } from 'node:events';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import { readText } from '../procfs/procfs.js';
import { processTree } from './process-tree.js';
import type { Endpoint } from './types.js';

/**
 * Whether a process or a descendant may listen for a debugger: it was told so by its command line (`--inspect`) or its
 * environment (`NODE_OPTIONS`, an editor's own variables).
 */
export function mayInspect(pid: number): boolean {
  return processTree(pid).some((process) =>
    ['cmdline', 'environ'].some((file) =>
      /inspect/i.test(readText(`/proc/${process}/${file}`) ?? ''),
    ),
  );
}

const PATIENCE_MS = 1000;

/** Whether a debugger is what listens there, which it answers itself: the DevTools protocol has `/json/version`. */
export async function isInspector({ host, port }: Endpoint): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const request = get({ host, port, path: '/json/version', agent: false, signal });
    const [response] = await once(request, 'response');
    const version: unknown = await json(response);
    return Object.hasOwn(version as object, 'Protocol-Version');
  } catch {
    // Another protocol, another answer, or none.
    return false;
  }
}

import { basename, dirname, join } from 'node:path';
import { isNode } from '../../process/discovery/node-process.js';
import { findProcessTree } from '../../process/discovery/process-tree.js';
import { readText } from '../../process/procfs/procfs.js';
import { PRELOAD } from '../observe/probe/hub.js';
import type { ServerUnderTest } from './server-under-test.js';

/**
 * Explains why the server has no probe inside, and how to get one; empty if `probe` says that it has one. `http2`: whether the
 * load speaks HTTP/2.
 */
export function explainProbeAbsence(
  runsNode: boolean | null,
  subject: ServerUnderTest,
  { probe, http2 }: { probe: boolean; http2: boolean },
): string[] {
  if (probe) return [];
  const reason = () => {
    if (subject.probeObstacle === 'unreadable') {
      return `its user cannot read ${PRELOAD}: install millrace where that user can, and run millrace as that user`;
    }
    if (subject.probeObstacle === 'permission-model') {
      // The probe shares modules with the rest of the package.
      return `Node.js's permission model denies the probe; add --allow-fs-read=${join(dirname(PRELOAD), '..', '*')}`;
    }
    if (!subject.hub) {
      return runsNode === false
        ? 'it is not Node.js; only its threads are visible'
        : 'start it with millrace (millrace explain -- COMMAND), or use --attach';
    }
    if (!subject.canRestart) return 'the probe did not answer';
    if (subject.pid !== null && lacksProbeOption(subject.pid)) {
      return 'its NODE_OPTIONS were replaced, often by a script in package.json: use NODE_OPTIONS="$NODE_OPTIONS ..." there, give the command itself, or start the server and explain its URL with --attach';
    }
    const user = subject.pid === null ? null : findOtherUser(subject.pid);
    if (user !== null) {
      return `it runs as another user (uid ${user}), who cannot reach the probe's socket: run millrace as that user`;
    }
    return `the probe saw no request through ${http2 ? 'node:http2' : 'node:http or node:https'}`;
  };
  return [`inside the server: ${reason()}`];
}

/** Finds the user of the server if it is neither the one of this process nor root; `null` otherwise. */
function findOtherUser(pid: number): number | null {
  const uid = Number(/^Uid:\s*(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1] ?? 0);
  return uid === 0 || uid === process.getuid?.() ? null : uid;
}

/** Whether a Node.js process of the server runs with NODE_OPTIONS that lack the probe. */
function lacksProbeOption(pid: number): boolean {
  return findProcessTree(pid).some((process) => {
    const variables = (readText(`/proc/${process}/environ`) ?? '').split('\0');
    const options = variables.find((variable) => variable.startsWith('NODE_OPTIONS='));
    return isNode(process) && options?.includes(basename(PRELOAD)) !== true;
  });
}

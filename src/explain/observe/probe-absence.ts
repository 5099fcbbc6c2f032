import { basename, dirname, join } from 'node:path';
import { isNode } from '../../process/discovery/node-process.js';
import { processTree } from '../../process/discovery/process-tree.js';
import { readText } from '../../process/procfs/procfs.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { PRELOAD } from './probe/hub.js';

/** Explains why the server has no probe inside, and how to get one; empty if `probe` says that it has one. */
export function explainProbeAbsence(
  runsNode: boolean | null,
  subject: ServerUnderTest,
  probe: boolean,
): string[] {
  if (probe) return [];
  const reason = () => {
    if (subject.isProbeForbidden) {
      return `Node's permission model keeps the probe out; add --allow-fs-read=${join(dirname(PRELOAD), '*')}`;
    }
    if (!subject.hub) {
      return runsNode === false
        ? 'it is not Node.js, only its threads are seen'
        : 'let millrace start it (millrace explain -- COMMAND), or permit --attach';
    }
    if (!subject.canRestart) return 'the probe did not answer';
    if (subject.pid !== null && lacksProbeOption(subject.pid)) {
      return 'its NODE_OPTIONS are set anew, without the probe, as by a script of package.json: write NODE_OPTIONS="$NODE_OPTIONS ..." there, give the command behind the script, or start the server and explain its URL with --attach';
    }
    return 'the probe saw no request of node:http or node:https';
  };
  return [`inside the server: ${reason()}`];
}

/** Whether a Node.js process of the server runs with NODE_OPTIONS that lack the probe. */
function lacksProbeOption(pid: number): boolean {
  return processTree(pid).some((process) => {
    const variables = (readText(`/proc/${process}/environ`) ?? '').split('\0');
    const options = variables.find((variable) => variable.startsWith('NODE_OPTIONS='));
    return isNode(process) && options?.includes(basename(PRELOAD)) !== true;
  });
}

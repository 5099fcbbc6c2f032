import { usageError } from '../../../errors/millrace-error.js';
import { parseCount } from '../../../validation/units.js';
import type { CommandFlags } from '../command-flags.js';
import { storeIn } from '../kinds.js';
import { HOSTS_FLAGS } from '../load/hosts-flags.js';
import { type Invocation, newInvocation } from '../load/invocation.js';
import { shareLoadFlags } from '../load/shared-flags.js';
import { readCpu, readImage, readMemory, readName } from './objects.js';

/** What the flags and operands of `millrace kubernetes` stand for. */
export interface KubernetesInvocation extends Invocation {
  pods?: number;
  image?: string;
  jobName?: string;
  startInMs: number;
  /** What a pod requests; without `cpu` a core for each thread. */
  cpu?: string;
  memory: string;
  /** Further files for the pods. */
  include: string[];
  filesInImage: boolean;
  /** The operands: URLs, and a file of scenarios. */
  positional: string[];
}

/** The largest number of pods: one Job holds no more indexes that may fail one by one. */
const MAX_PODS = 100_000;

const { duration, list, parsed, toggle } = storeIn(
  (invocation: KubernetesInvocation) => invocation,
);

const OWN_FLAGS = [
  parsed('pods', 'pods', (value, flag) => parseCount(value, flag, { min: 1, max: MAX_PODS }), {
    value: 'N',
    common: true,
    help: 'number of pods: each sends a share of the load',
    details: '-c, -n, --users and the rate are those of the whole load, which the pods share.',
  }),
  parsed('image', 'image', readImage, {
    value: 'NAME',
    common: true,
    help: 'the image of the pods, which has millrace',
    details: "It is built with millrace's Dockerfile, or is any image with millrace in its PATH.",
  }),
  duration(
    'start-in',
    'startInMs',
    {
      fallback: '60s',
      help: 'when the load begins, from now',
      details:
        'The manifest has that instant, for all pods: they must be running by then, with their images pulled. A pod that is late begins when it runs, and its result says how late.',
    },
    0,
  ),
  parsed('job-name', 'jobName', readName, {
    value: 'NAME',
    fallback: 'millrace- and the instant of the start',
    help: 'name of the Job',
  }),
  parsed('cpu', 'cpu', readCpu, {
    value: 'CORES',
    fallback: 'a core for each thread',
    help: 'what a pod requests: 2, 500m',
  }),
  parsed('memory', 'memory', readMemory, {
    value: 'QUANTITY',
    fallback: '256Mi',
    help: 'what a pod requests: 512Mi, 1Gi',
  }),
  list('include', 'include', {
    value: 'FILE',
    help: 'a further file that scenarios read; repeatable',
    details:
      'The pods have the files that flags name, what is named in those, and what scenarios import by a relative path, all by the same relative paths as here.',
  }),
  toggle('files-in-image', 'filesInImage', true, {
    help: 'the image has the files: leave them out',
    details:
      'For files of more than 1 MiB together, which a ConfigMap cannot hold. Paths are then relative to the working folder of the image.',
  }),
];

const UNSUPPORTED = {
  ...Object.fromEntries(HOSTS_FLAGS.map(({ name }) => [name, 'pods are the machines: --pods N'])),
  segment: 'each pod has a share of its own: their number is --pods N',
  'start-at': 'the start is --start-in TIME from now, and the manifest has its instant',
  'log-result': 'each pod prints its result into its log',
  'dry-run': 'millrace load --dry-run sends one iteration from here',
  'abort-on-fail': 'conditions are judged once, when the results of all pods are merged',
  baseline: 'millrace compare OLD.json MERGED.json',
  prometheus: 'a Job has no port',
  pid: "a pod sees no process of the server's",
  'no-progress': 'pods show no progress',
  cwd: 'pods start no command',
};

/** Flags of kubectl that one may look for here. */
const OF_KUBECTL = {
  namespace:
    'the manifest names none, and kubectl takes it: add -n NAME to the commands of kubectl',
  context: 'no cluster is needed here: kubectl takes it',
  kubeconfig: 'no cluster is needed here: kubectl takes it',
};

const SHARED = shareLoadFlags(OWN_FLAGS, UNSUPPORTED);

/** The flags of `millrace kubernetes`. */
export const KUBERNETES: CommandFlags<KubernetesInvocation> = {
  ...SHARED,
  unsupported: { ...SHARED.unsupported, ...OF_KUBECTL },
  groups: [{ title: 'millrace kubernetes', flags: OWN_FLAGS }],
  create: () => ({
    ...newInvocation(),
    ...{ startInMs: 60_000, memory: '256Mi', include: [], filesInImage: false, positional: [] },
  }),
  setOperands(invocation, operands) {
    if (operands.command) {
      throw usageError('kubernetes needs the URL of a server: pods start no command');
    }
    invocation.positional = operands.positional;
    SHARED.setOperands(invocation, operands);
  },
};

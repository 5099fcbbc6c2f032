import { count } from '../../../format/units.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const FD_LIMIT = {
  id: 'fd-limit',
  group: 'connections and TCP',
  text: {
    title: 'The limit of open files is reached',
    what: 'Each connection is an open file, and a process has a limit of open files. Node.js drops further connections silently.',
    shows:
      "The server's open files are at its limit, or connections of the generator fail because of its own limit.",
    experiment: 'None of its own: explain does not change the limit of a running process.',
    formula: 'maximum connections = limit of open files - other open files',
    remedy: 'A higher limit: ulimit -n, LimitNOFILE of systemd.',
    confirm:
      'raise the limit of open files (ulimit -n) and start again: the failed connections end',
    detected: 'by its signature',
  },
  detectors: [detectFdLimit],
  isSevere: true,
  mattersAtSustainedRate: true,
} satisfies Limit;

function detectFdLimit(metrics: Metrics): Detected {
  const limit = 'fd-limit';
  const { load, outside } = metrics.base;
  const own = load.errors.find(({ kind }) => kind === 'fd-limit');
  if (own) {
    return {
      limit,
      weight: 1,
      sentence: `the load generator has reached its limit of open files: ${count(own.count)} connections failed.`,
      arithmetic: ['see ulimit -n on the machine that makes the load'],
      evidence: [
        {
          what: 'connections that the limit prevented',
          value: own.count,
          unit: 'connections',
          source: 'load',
        },
      ],
      predictions: {},
      remedy: {
        change: 'a higher ulimit -n for the load generator',
        predictedThroughput: null,
        nextLimit: null,
      },
    };
  }
  const full = outside?.processes.find(
    ({ openFiles, fileLimit }) =>
      openFiles !== null && fileLimit !== null && openFiles >= fileLimit - 3,
  );
  if (!full?.fileLimit) {
    const [most] = [...(outside?.processes ?? [])].sort(
      (a, b) => (b.openFiles ?? 0) - (a.openFiles ?? 0),
    );
    return {
      limit,
      why: most?.openFiles
        ? `${most.openFiles} of ${most.fileLimit ?? '?'} files open`
        : 'no connection failed because of it',
    };
  }
  return {
    limit,
    weight: 1,
    sentence: `open files: the server has ${count(full.openFiles ?? 0)} open, of at most ${count(full.fileLimit)}; it drops further connections silently.`,
    arithmetic: [
      `${count(full.fileLimit)} - files of its own = about ${count(Math.max(0, full.fileLimit - 20))} connections at once; the load has ${count(load.plan.connections)}`,
    ],
    evidence: [{ what: 'open files', value: full.openFiles ?? 0, unit: 'files', source: 'proc' }],
    predictions: {},
    remedy: {
      change: `a higher limit (ulimit -n, LimitNOFILE): at least ${count(load.plan.connections + 50)}`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

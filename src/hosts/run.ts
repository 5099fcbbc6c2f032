import { usageError } from '../errors/millrace-error.js';
import { LatestValue } from '../load/engine/latest-value.js';
import { followRun, type Run } from '../load/engine/run-handle.js';
import { readStartAt } from '../load/plan/start-at.js';
import type { LoadResult } from '../load/result.js';
import { checkOptions, mustBe } from '../validation/shape.js';
import { parseDuration } from '../validation/units.js';
import { collectRun } from './collect-files.js';
import { packPackage, receiveCommand } from './connection/copy.js';
import { Session } from './connection/session.js';
import { sshWords } from './connection/ssh.js';
import { HOSTS_DEFAULTS } from './defaults.js';
import { HostsError } from './failure.js';
import { HostGroup } from './group.js';
import { readHosts } from './host.js';
import { mergeShares } from './merge-shares.js';
import { HOSTS_OPTIONS, type HostsOptions, OTHER_HOSTS_NAMES } from './options.js';
import { HostsProgress, type HostsSnapshot } from './progress.js';
import { refuseForHosts, refuseTooManyHosts } from './refuse.js';

/** A run on several hosts: the promise of its merged result, and an iterable of its snapshots. */
export interface HostsRun extends Run<LoadResult, HostsSnapshot> {}

/**
 * Loads a server from several machines, each of which runs a share of one plan, and merges their results. The machines are
 * reached by ssh, and need Node and millrace, or Node alone with `copy`. A host that fails after the start is a warning of the
 * result; if none has a result, or one cannot be used before the start, the promise rejects with a `HostsError`, whose
 * `failures` have a line for each.
 *
 * @example
 * const result = await loadOnHosts(['a', 'b', 'admin@c:2222'], { url: 'http://server:8080/', rate: 30_000 });
 */
export function loadOnHosts(hosts: string | readonly string[], options: HostsOptions): HostsRun {
  const progress = new LatestValue<HostsSnapshot>();
  return followRun(options, progress, (own) => runOnHosts(hosts, own, progress));
}

async function runOnHosts(
  given: string | readonly string[],
  options: HostsOptions,
  newest: LatestValue<HostsSnapshot>,
): Promise<LoadResult> {
  checkOptions(options, HOSTS_OPTIONS, OTHER_HOSTS_NAMES);
  const hosts = readHosts(given, 'hosts');
  const { ssh = HOSTS_DEFAULTS.ssh, remoteCommand = HOSTS_DEFAULTS.remoteCommand } = options;
  const { copy = HOSTS_DEFAULTS.copy, clockSkew = HOSTS_DEFAULTS.clockSkewMs } = options;
  const { ssh: _, remoteCommand: __, copy: ___, clockSkew: ____, signal, ...load } = options;
  refuseForHosts(load);
  for (const [name, command] of Object.entries({ ssh, remoteCommand })) {
    if (command.trim() === '') throw mustBe(name, 'a command', command);
  }
  if (copy && options.remoteCommand !== undefined) {
    throw usageError('copy cannot be combined with remoteCommand: the copy is what is started');
  }
  signal?.throwIfAborted();
  const startAtMs = readStartAt(load.startAt, 'startAt');
  const run = await collectRun(load);
  refuseTooManyHosts(run.plan, hosts.length);
  const progress = new HostsProgress(
    hosts.map(({ name }) => name),
    newest,
  );
  const command = copy ? receiveCommand() : `${remoteCommand} agent`;
  const preamble = copy ? { preamble: packPackage() } : {};
  const sessions = hosts.map(
    (host) =>
      new Session(host, {
        words: sshWords(ssh, host, command),
        ...{ remoteCommand, copy, ...preamble },
      }),
  );
  const group = new HostGroup(sessions, progress, signal);
  try {
    const clocks = await group.prepare(run, parseDuration(clockSkew, 'clockSkew'));
    const atMs = startAtMs ?? group.chooseStart(clocks, run);
    group.start(clocks, atMs);
    const { shares, failures } = await group.collect(clocks, atMs);
    if (shares.length === 0) {
      if (failures.length === 0) throw signal?.reason;
      throw new HostsError(failures);
    }
    return mergeShares(shares, failures, [load.failOn ?? []].flat());
  } finally {
    await group.end();
  }
}

import { usageError } from '../errors/millrace-error.js';
import type { LoadOptions } from '../load/options.js';
import type { Plan } from '../load/plan/plan.js';
import { connectionsOfShare } from '../load/plan/segments/divide-plan.js';

/** Options that have no meaning for several machines, and what to do instead. */
const REFUSED: readonly (readonly [keyof LoadOptions, string])[] = [
  ['command', 'start the server first, and give its URL'],
  ['cwd', 'it is the folder of a command'],
  ['segment', 'each host runs a share of its own'],
  ['abortOnFail', 'conditions are judged at the end, on the whole'],
  ['buckets', 'the figures of one machine have them'],
];

/** Refuses options that cannot be combined with hosts, before anything is read. */
export function refuseForHosts(options: LoadOptions): void {
  for (const [option, advice] of REFUSED) {
    const value = options[option];
    if (value === undefined || value === false) continue;
    throw usageError(`${option} cannot be combined with hosts: ${advice}`);
  }
  if (typeof options.pid === 'number') {
    throw usageError('pid cannot be combined with hosts: it is the process of one machine');
  }
  if (typeof options.scenario === 'object' && !(options.scenario instanceof URL)) {
    throw usageError(
      'scenario must be the path of a file with hosts: functions cannot be sent to another machine',
    );
  }
}

/** Refuses a plan that cannot be divided among so many hosts. */
export function refuseTooManyHosts({ native, summary }: Plan, count: number): void {
  const { connections, requests, flows } = summary;
  const servers = connectionsOfShare(native);
  const needs: readonly [what: string, total: number | null, perHost: number][] = [
    ['requests', requests, 1],
    ['users', flows?.users ?? null, 1],
    ['connections', connections, servers],
  ];
  for (const [what, total, perHost] of needs) {
    if (total === null || total >= count * perHost) continue;
    const each = perHost === 1 ? 'each' : `each and each of ${servers} servers`;
    throw usageError(
      `${count} hosts need at least ${count * perHost} ${what}, one for ${each} (got ${total} in all): give more, or fewer hosts`,
    );
  }
}

import { plural, share } from '../../../format/units.js';
import type { Metrics } from '../../metrics/types.js';
import type { LocalDependency, OutboundView } from '../../observe/types.js';
import { SATURATED } from '../event-loop/loop-capacity.js';
import { hasNoIdleCore, hasQueue, parsePort } from '../event-loop/queue.js';

/** A program that the server calls on this machine, and that has no CPU time left for more calls. */
export interface SaturatedProgram {
  program: LocalDependency;
  /** What it uses. */
  why: string;
}

/** Describes a saturated program as the reason for which another limit is ruled out; `null` if there is none. */
export function describeSaturatedProgram(metrics: Metrics): string | null {
  const saturated = findSaturatedProgram(metrics);
  if (saturated === null) return null;
  const { program, why } = saturated;
  return `${program.program} (${program.peer}) has no CPU time left: ${why}`;
}

/** Minimum share of the machine's cores that a program uses if it is what takes them. */
const MIN_CORES_SHARE = 0.3;
/** Minimum time on a core of a thread that is saturated where it also waits for its core. */
const MIN_THREAD_RUN = 0.6;

/**
 * Finds a program that the server calls on this machine, such as a database, whose CPU time is used up: one of its
 * threads is always busy, or it uses most of the machine's cores, of which none is idle. `null` if there is none, or
 * requests do not queue.
 */
export function findSaturatedProgram(metrics: Metrics): SaturatedProgram | null {
  const programs = metrics.base.outside?.dependencies ?? [];
  const [program] = programs.toSorted((a, b) => b.cores - a.cores);
  if (!program || !hasQueue(metrics) || waitsForAnother(program, metrics)) return null;
  const why = describeUsedCores(program, metrics) ?? describeBusiestThread(program);
  return why === null ? null : { program, why };
}

/** Minimum share of the requests in flight that wait for a dependency if they queue there. */
const MIN_WAITING_SHARE = 0.3;

/** Whether more requests wait for another dependency than for a program: it computes for something else then. */
function waitsForAnother({ peer }: LocalDependency, { base, inFlight }: Metrics): boolean {
  const calls = base.inside?.outbound ?? [];
  const isOwn = ({ origin }: OutboundView) => parsePort(origin) === parsePort(peer);
  const own = calls.filter(isOwn).reduce((sum, { answering }) => sum + answering, 0);
  const min = Math.max(own, MIN_WAITING_SHARE * inFlight);
  return calls.some((call) => !isOwn(call) && call.answering > min);
}

function describeUsedCores({ cores }: LocalDependency, { machine }: Metrics): string | null {
  if (!machine || !hasNoIdleCore(machine)) return null;
  const { cpu } = machine;
  const rest = cpu.others - cpu.dependencies;
  if (cores < Math.max(cpu.server, cpu.self, rest, MIN_CORES_SHARE * cpu.cores)) return null;
  return `it uses ${cores.toFixed(2)} of ${plural(cpu.cores, 'core')}, and ${cpu.idle.toFixed(2)} are idle`;
}

function describeBusiestThread({ busiestThread }: LocalDependency): string | null {
  const { run, queued } = busiestThread;
  if (run < MIN_THREAD_RUN || run + queued < SATURATED) return null;
  const waits = queued >= 0.1 ? `, and waits for one ${share(queued)}` : '';
  return `a thread of it is on a core ${share(run)} of the time${waits}`;
}

import { isIP } from 'node:net';
import { plural, share } from '../../../format/units.js';
import { computeForeignCores } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { LocalDependency, OutboundView } from '../../observe/types.js';
import { SATURATED } from '../event-loop/loop-capacity.js';
import { hasQueue } from '../event-loop/queue.js';
import { parsePort } from './address.js';
import { hasSameCost } from './cost-per-request.js';
import { computeUnseenCores } from './unseen-programs.js';

/** A program that the server calls on this machine, and that has no CPU time left for more calls. */
export interface SaturatedProgram {
  /** Its name, and where it listens. */
  name: string;
  cores: number;
  /** Share of the time that its busiest thread is on a core; `null` if its connections are not known. */
  busiestRun: number | null;
  /** What it uses. */
  why: string;
}

/**
 * Describes a saturated program as the reason for which another limit is ruled out; `null` if there is none, or it is
 * not seen to be called.
 */
export function describeSaturatedProgram(metrics: Metrics): string | null {
  const saturated = findSaturatedProgram(metrics);
  if (saturated === null || saturated.busiestRun === null) return null;
  return `${saturated.name} has no CPU time left: ${saturated.why}`;
}

/**
 * Finds a program that the server calls on this machine, such as a database, whose CPU time is used up: one of its
 * threads is always busy, or it uses most of the machine's cores, of which none is idle. Its work must be that of the
 * requests, and they must wait for it. `null` if there is none.
 */
export function findSaturatedProgram(metrics: Metrics): SaturatedProgram | null {
  if (!hasQueue(metrics)) return null;
  const programs = metrics.base.outside?.dependencies ?? [];
  for (const program of programs.toSorted((a, b) => b.cores - a.cores)) {
    const why = describeUsedCores(program, metrics) ?? describeBusiestThread(program);
    if (why !== null && worksForRequests(program, metrics) && isWaitedFor(program, metrics)) {
      const { peers, cores, busiestThread } = program;
      const name = `${program.program} (${peers[0]})`;
      return { name, cores, busiestRun: busiestThread.run, why };
    }
  }
  return findUnseenProgram(metrics);
}

/** Maximum share of the machine's cores that are idle if a program that is not seen to be called leaves none. */
const MAX_UNSEEN_IDLE_PART = 0.1;

/** Finds a program to which no connection is known, though it takes the cores for the requests. */
function findUnseenProgram(metrics: Metrics): SaturatedProgram | null {
  const { machine, base, inFlight } = metrics;
  const cores = computeUnseenCores(metrics);
  if (cores === null || !machine || machine.cpu.idle > MAX_UNSEEN_IDLE_PART * machine.cpu.cores)
    return null;
  // Requests that wait for a connection of a pool have not reached it.
  const pooled = base.inside?.outbound.reduce((all, { waiting }) => all + waiting, 0) ?? 0;
  if (pooled > MIN_WAITING_REQUESTS * inFlight) return null;
  const why = describeFullMachine(cores, metrics);
  return why === null ? null : { name: UNSEEN, cores, busiestRun: null, why };
}

const UNSEEN =
  'a program whose connections are not seen (of another user, in a container, or behind a Unix socket)';

/** Minimum share of the machine's cores that a program uses if it is what takes them. */
const MIN_CORES_SHARE = 0.3;

/** Maximum of the idle cores, and minimum of the threads of the program that wait for one, if none is idle. */
const [MAX_IDLE_CORES, MIN_QUEUED] = [0.3, 0.2];

function describeUsedCores({ cores, queued }: LocalDependency, metrics: Metrics): string | null {
  return queued < MIN_QUEUED ? null : describeFullMachine(cores, metrics);
}

function describeFullMachine(cores: number, { machine }: Metrics): string | null {
  if (!machine || machine.cpu.idle > MAX_IDLE_CORES) return null;
  const { cpu } = machine;
  const rest = computeForeignCores(cpu);
  if (cores < Math.max(cpu.server, cpu.self, rest, MIN_CORES_SHARE * cpu.cores)) return null;
  // A server that is bound to some cores says nothing about the others.
  if (cores > cpu.cores) return null;
  return `it uses ${cores.toFixed(2)} of ${plural(cpu.cores, 'core')}, and ${cpu.idle.toFixed(2)} are idle`;
}

/** Minimum time on a core of a thread that is saturated where it also waits for its core. */
const MIN_THREAD_RUN = 0.6;

/** Minimum share of a program's CPU time in its busiest thread if it does its work there. */
const MIN_THREAD_PART = 0.8;

function describeBusiestThread({ cores, busiestThread }: LocalDependency): string | null {
  const { run, queued } = busiestThread;
  if (run < MIN_THREAD_RUN || run + queued < SATURATED || run < MIN_THREAD_PART * cores)
    return null;
  const waits = queued >= 0.1 ? `, and waits for one ${share(queued)}` : '';
  return `a thread of it is on a core ${share(run)} of the time${waits}`;
}

/** Whether the program computes for the requests: about as much for each as for a single one. */
function worksForRequests({ peers, cores }: LocalDependency, metrics: Metrics) {
  const alone = metrics.single?.outside?.dependencies.find((one) => one.peers[0] === peers[0]);
  return alone !== undefined && hasSameCost(cores, alone.cores, metrics);
}

/** Minimum share of the requests in flight, or of the connections, that wait for a program if requests queue there. */
const [MIN_WAITING_REQUESTS, MIN_WAITING_CONNECTIONS] = [0.3, 0.7];

/**
 * Whether requests wait for a program, and not rather for another dependency. Without a probe, calls are not seen: then
 * the program's CPU time has to tell.
 */
function isWaitedFor(program: LocalDependency, metrics: Metrics): boolean {
  const { base, inFlight, sockets } = metrics;
  if (!base.inside) return true;
  const sum = (calls: OutboundView[]) =>
    calls.reduce((all, { answering, waiting }) => all + answering + waiting, 0);
  const [own, others] = [true, false].map((isOwn) =>
    (base.inside?.outbound ?? []).filter((call) => isCallTo(program, call, metrics) === isOwn),
  );
  const connections = (sockets?.outbound ?? [])
    .filter(({ peer }) => program.peers.includes(peer))
    .reduce((all, { max }) => all + max, 0);
  const min = Math.min(MIN_WAITING_REQUESTS * inFlight, MIN_WAITING_CONNECTIONS * connections);
  const waiting = sum(own ?? []);
  return waiting >= Math.max(0.5, min) && (others ?? []).every((call) => sum([call]) <= waiting);
}

/** Finds the program on this machine that answers a call; `null` if it is unknown. */
export function findCalledProgram(call: OutboundView, metrics: Metrics): LocalDependency | null {
  const programs = metrics.base.outside?.dependencies ?? [];
  return programs.find((program) => isCallTo(program, call, metrics)) ?? null;
}

/** Whether a call goes to a program. A host name is that of the program if no other peer has the port. */
function isCallTo({ peers }: LocalDependency, { origin }: OutboundView, { sockets }: Metrics) {
  const port = parsePort(origin);
  const host = origin.slice(origin.indexOf('//') + 2, -port.length - 1);
  if (isIP(host.replace(/^\[|\]$/g, ''))) return peers.includes(`${host}:${port}`);
  const onPort = (sockets?.outbound ?? []).filter(({ peer }) => parsePort(peer) === port);
  const isKnown = peers.some((peer) => parsePort(peer) === port);
  return isKnown && onPort.every(({ peer }) => peers.includes(peer));
}

import { median } from '../../statistics/median.js';
import { TCP } from '../observe/probe/view.js';
import type {
  Observation,
  OutboundView,
  OutsideView,
  ProcessUse,
  ThreadUse,
} from '../observe/types.js';
import type { Loop, MachineUse, Metrics, Observations } from './types.js';

/** The facts of a baseline. */
export function deriveMetrics(seen: Observations): Metrics {
  const { base, single } = seen;
  const { load, inside, sockets } = base;
  const { plan, requests } = load;
  const model = plan.model;
  const completed = requests.ok + requests.statusErrors;
  return {
    ...seen,
    model,
    maxConcurrency: model === 'closed' ? plan.connections * plan.pipelining : load.meanInFlight,
    inFlight: load.meanInFlight,
    throughput: base.throughput,
    goodput: base.throughput * (completed === 0 ? 0 : requests.ok / completed),
    errorShare: errorShareOf([base]),
    responseMs: responseMsOf(base),
    latencyMs: load.latencyMs.mean ?? responseMsOf(base),
    unloadedLatencyMs: single && single.throughput > 0 ? responseMsOf(single) : null,
    loop: loopOf(base, single, inside?.utilisation ?? null),
    machine: machineOf([base]),
    connectionRamp: null,
    loopTime: null,
    sockets,
    deadlineMs: deadlineMs(inside),
  };
}

/** Share of the requests of some blocks that failed or were answered with an error. */
export function errorShareOf(blocks: Observation[]): number {
  const [ended, failed] = blocks.reduce(
    ([all, bad], { load: { requests } }) => {
      const { ok, statusErrors, transportErrors, timeouts } = requests;
      const errors = statusErrors + transportErrors + timeouts;
      return [all + ok + errors, bad + errors];
    },
    [0, 0],
  );
  return ended === 0 ? 0 : failed / ended;
}

/** The mean response time, by Little's law, which no request at the block's edges falsifies; not of a load whose queue grows. */
export function responseMsOf(block: Observation): number {
  const { load, throughput } = block;
  const grows = load.plan.model === 'open' && !sustainsRate(block);
  if (grows || throughput === 0) return load.latencyMs.mean ?? 0;
  return (load.meanInFlight * 1000) / throughput;
}

/** Neighbours come and go: what they took is told by all blocks together. */
export function machineOf(blocks: Observation[]): MachineUse | null {
  const seen = blocks.flatMap((block) => {
    const main = busiest(block)?.main;
    if (!block.outside || !main) return [];
    return [{ cpu: block.outside.cpu, main, stolen: stolenFrom(main, block) }];
  });
  if (seen.length === 0) return null;
  const mean = (of: (one: (typeof seen)[number]) => number) =>
    seen.reduce((sum, one) => sum + of(one), 0) / seen.length;
  return {
    cpu: {
      cores: mean(({ cpu }) => cpu.cores),
      server: mean(({ cpu }) => cpu.server),
      self: mean(({ cpu }) => cpu.self),
      others: mean(({ cpu }) => cpu.others),
      idle: mean(({ cpu }) => cpu.idle),
      wanted: mean(({ cpu }) => cpu.wanted),
      steal: mean(({ cpu }) => cpu.steal),
    },
    idleLeast: Math.min(...seen.map(({ cpu }) => cpu.idle)),
    loop: {
      run: mean(({ main }) => main.run),
      queued: mean(({ main }) => main.queued),
      stolen: mean((one) => one.stolen),
    },
  };
}

/** Part of the CPU time that is wanted which the machine's host takes. */
export function stolenPart({ wanted, steal }: OutsideView['cpu']): number {
  return wanted > 0 ? steal / wanted : 0;
}

/** Part of what is wanted that the host takes, from which on it may keep further cores, too. */
const KEPT = 0.05;

/** Whether what more cores would give may be kept by the machine's host. */
export function mayBeKept(machine: MachineUse | null): boolean {
  return machine !== null && stolenPart(machine.cpu) >= KEPT;
}

/**
 * Share of the time that the machine's host took from a loop's thread while it was on a core. The kernel tells it of cores,
 * not of threads, so each is taken to lose the same part of what it wants; and its own time on a core is without that on some
 * kernels only. So it is told of loops that say themselves how busy they are, as a part of what else that is not; else it is 0.
 */
function stolenFrom({ run }: ThreadUse, block: Observation): number {
  if (!block.outside) return 0;
  const part = Math.min(MOST_STOLEN, stolenPart(block.outside.cpu));
  return Math.max(0, Math.min((run * part) / (1 - part), run * unexplained(block)));
}

/** Time that the loops are busy by their own account, and neither on a core nor ready for one: for each second on a core. */
function unexplained(block: Observation): number {
  const { inside } = block;
  if (!inside || inside.utilisation === null) return 0;
  const mains = serving(block).map(({ main }) => main);
  const run = mains.reduce((sum, main) => sum + main.run, 0);
  const queued = mains.reduce((sum, main) => sum + main.queued, 0);
  const busy = mains.length > 1 ? inside.busyLoops : inside.utilisation;
  return run === 0 ? 0 : (busy - run - queued) / run;
}

/** Beyond it what a thread has left says too little of what it wants. */
const MOST_STOLEN = 0.9;

/** Part of a rate that a block's answers may lack, as those to its last requests come later. */
const LATER = 0.1;

/** Whether an open load is sent, and answered as fast as it comes: with enough connections all is sent, and the queue is the server's. */
export function sustainsRate({ load, throughput }: Observation): boolean {
  const { plan, requests, warnings } = load;
  const failed = warnings.some(({ id }) => id === 'rate-not-reached' || id === 'not-sent');
  if (failed || requests.sent === 0) return false;
  if (plan.rate === null) return true;
  const seconds = load.durationMs / 1000;
  const due = plan.rate * seconds;
  const ended = throughput * seconds + requests.transportErrors + requests.timeouts;
  // The number of arrivals of a Poisson process scatters by its root.
  return ended >= due - Math.max(LATER * due, 3 * Math.sqrt(due));
}

function loopOf(
  base: Observation,
  single: Observation | null,
  utilisation: number | null,
): Loop | null {
  const main = busiest(base)?.main;
  if (!main) {
    if (utilisation === null) return null;
    const cpuMs = (utilisation * 1000) / Math.max(1, base.throughput);
    const own = { run: utilisation, queued: 0, stolen: 0, busy: utilisation, waiting: 0 };
    return { ...own, seenInside: true, eachMs: cpuMs, cpuMs, singleCpuMs: null };
  }
  const wanted = wantedBy(main, base);
  const busy = Math.min(1, utilisation ?? wanted);
  return {
    run: main.run,
    queued: main.queued,
    stolen: stolenFrom(main, base),
    busy,
    seenInside: utilisation !== null,
    // Where the kernel does not tell of queues, waiting for a core looks the same.
    waiting: utilisation === null || !base.outside?.seesQueues ? 0 : Math.max(0, busy - wanted),
    eachMs: eachMsOf(base) ?? 0,
    cpuMs: cpuMsOf(base) ?? 0,
    singleCpuMs: single ? cpuMsOf(single) : null,
  };
}

/** The facts with what further unchanged blocks showed: how busy the loop is, what a request costs it now, and who used the cores. */
export function withAllSeen(facts: Metrics, blocks: Observation[]): Metrics {
  const costs = blocks.flatMap((block) => eachMsOf(block) ?? []);
  if (!facts.loop || costs.length === 0) return facts;
  const all = [facts.base, ...blocks];
  const loop = { ...facts.loop, ...timeOfLoop(all), eachMs: median(costs) };
  return { ...facts, machine: machineOf(all), loop };
}

/** How the busiest loop spent its time over several blocks, on average; `null` if none tells it as the first one does. */
function timeOfLoop(
  blocks: Observation[],
): Pick<Loop, 'run' | 'queued' | 'stolen' | 'busy' | 'waiting'> | null {
  const all = blocks.flatMap(
    (block) => loopOf(block, null, block.inside?.utilisation ?? null) ?? [],
  );
  const loops = all.filter(({ seenInside }) => seenInside === all[0]?.seenInside);
  if (loops.length === 0) return null;
  const mean = (of: (loop: Loop) => number) =>
    loops.reduce((sum, loop) => sum + of(loop), 0) / loops.length;
  const [run, queued] = [mean((loop) => loop.run), mean((loop) => loop.queued)];
  const [stolen, busy] = [mean((loop) => loop.stolen), mean((loop) => loop.busy)];
  const waits = loops.some(({ waiting }) => waiting > 0);
  const waiting = waits ? Math.max(0, busy - run - queued - stolen) : 0;
  return { run, queued, stolen, busy, waiting };
}

/** Share of the time that a thread wanted a core: it had one, was ready for one, or the machine's host had taken it. */
export function wantedBy(main: ThreadUse, block: Observation): number {
  return main.run + main.queued + stolenFrom(main, block);
}

/** CPU time of the main threads per response, ms; `null` if it is not seen or nothing was answered. */
export function cpuMsOf(block: Observation): number | null {
  const { throughput, outside } = block;
  if (!outside || throughput === 0) return null;
  const run = serving(block).reduce((sum, { main }) => sum + main.run, 0);
  return (run * 1000) / throughput;
}

/** Time that the loops are busy per response, ms; `null` if it is not seen or nothing was answered. */
export function eachMsOf(block: Observation): number | null {
  const { throughput, inside } = block;
  const mains = working(block).map(({ main }) => Math.min(1, wantedBy(main, block)));
  const seen = mains.length > 0 ? mains.reduce((sum, busy) => sum + busy, 0) : null;
  // One loop tells its own busy time best; of several each has a part of the requests.
  const busy = mains.length > 1 ? seen : (inside?.utilisation ?? seen);
  return busy === null || throughput === 0 ? null : (busy * 1000) / throughput;
}

/** Responses per second that the loops of a block can give at most, by their CPU time for each. */
export function loopLimitOf(block: Observation): number | null {
  const cpuMs = cpuMsOf(block);
  if (!cpuMs || !block.outside) return null;
  const loops = Math.max(1, working(block).length);
  return (1000 * Math.min(loops, block.outside.cpu.cores)) / cpuMs;
}

/** The process of the server whose main thread ran most. */
export function busiest(block: Observation): ProcessUse | null {
  const [first = null, ...others] = serving(block);
  return others.reduce<ProcessUse | null>(
    (most, process) => (most && most.main.run >= process.main.run ? most : process),
    first,
  );
}

/** The processes that serve requests, as the probe tells: one that was started to compute has no loop that matters. Without it all. */
export function serving({
  outside,
  inside,
}: Pick<Observation, 'outside' | 'inside'>): ProcessUse[] {
  const processes = outside?.processes ?? [];
  const known = processes.filter(({ pid }) => inside?.pids.includes(pid));
  return known.length > 0 ? known : processes;
}

/** The threads that these processes have besides their loops'. */
export function threadsBeside(block: Observation): ThreadUse[] {
  return serving(block).flatMap(({ others }) => others);
}

/** Those of them that did some of the work: a wrapper that waits for its child is none. */
export function working(block: Observation): ProcessUse[] {
  const processes = serving(block);
  const most = Math.max(...processes.map(({ main }) => main.run));
  return processes.filter(({ main }) => main.run > most / 20);
}

/** Connections of the experiment that halves them, which are whole: of three it leaves two. */
export function halfConnections({ base }: Metrics): number {
  return Math.ceil(base.load.plan.connections / 2);
}

/** What that is of those there are: the throughput of requests that wait for nothing that queues falls as much. */
export function halfShare(facts: Metrics): number {
  return halfConnections(facts) / Math.max(1, facts.base.load.plan.connections);
}

/** Share of a request's time that goes to opening its connection, where each has one; 0 where they are kept. */
export function openingShare({ base, responseMs }: Metrics): number {
  const { connections, requests, connectMs, tlsMs } = base.load;
  const each = connections.opened / Math.max(1, requests.ok + requests.statusErrors);
  if (each < 0.3) return 0;
  const opening = (connectMs.mean ?? 0) + (tlsMs.mean ?? 0);
  return opening / Math.max(0.001, responseMs + opening);
}

/** The dependency in which the requests spend most of their time. */
export function mainDependency({ base }: Metrics): OutboundView | null {
  return dependencyOf(base.inside);
}

function dependencyOf(inside: Observation['inside']): OutboundView | null {
  const calls = inside?.outbound.filter((call) => !isMonitor(call, inside.finished)) ?? [];
  return calls.reduce<OutboundView | null>(
    (most, call) =>
      most && most.waiting + most.answering >= call.waiting + call.answering ? most : call,
    null,
  );
}

/** A question that no request asks: of a driver that watches its server, or waits for jobs. */
export function isMonitor({ origin, rate }: OutboundView, finished: number): boolean {
  return origin.startsWith(TCP) && rate < 0.1 * finished;
}

/** A time limit that leaves the usual answers alone: three times their median, on a scale of 1, 2, 5. */
function deadlineMs(inside: Observation['inside']): number | null {
  const usual = dependencyOf(inside)?.answerP50Ms;
  if (!usual) return null;
  const wanted = Math.max(10, usual * 3);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5, 10].find((digit) => digit * power >= wanted) ?? 10) * power;
}

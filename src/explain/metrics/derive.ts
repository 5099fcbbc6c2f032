import { median } from '../../statistics/median.js';
import { TCP_PREFIX } from '../observe/probe/view.js';
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
    errorShare: computeErrorShare([base]),
    responseMs: computeResponseMs(base),
    latencyMs: load.latencyMs.mean ?? computeResponseMs(base),
    unloadedLatencyMs: single && single.throughput > 0 ? computeResponseMs(single) : null,
    loop: deriveLoop(base, single, inside?.utilisation ?? null),
    machine: deriveMachineUse([base]),
    connectionRamp: null,
    loopTime: null,
    sockets,
    deadlineMs: suggestDeadlineMs(inside),
  };
}

/** Share of the requests of some blocks that failed or were answered with an error. */
export function computeErrorShare(blocks: Observation[]): number {
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
export function computeResponseMs(block: Observation): number {
  const { load, throughput } = block;
  const grows = load.plan.model === 'open' && !sustainsRate(block);
  if (grows || throughput === 0) return load.latencyMs.mean ?? 0;
  return (load.meanInFlight * 1000) / throughput;
}

/** Neighbours come and go: what they took is told by all blocks together. */
export function deriveMachineUse(blocks: Observation[]): MachineUse | null {
  const seen = blocks.flatMap((block) => {
    const main = findBusiestProcess(block)?.main;
    if (!block.outside || !main) return [];
    return [{ cpu: block.outside.cpu, main, stolen: estimateStolenShare(main, block) }];
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
    minIdle: Math.min(...seen.map(({ cpu }) => cpu.idle)),
    loop: {
      run: mean(({ main }) => main.run),
      queued: mean(({ main }) => main.queued),
      stolen: mean((one) => one.stolen),
    },
  };
}

/** Part of the CPU time that is wanted which the machine's host takes. */
export function computeStealShare({ wanted, steal }: OutsideView['cpu']): number {
  return wanted > 0 ? steal / wanted : 0;
}

/** Part of what is wanted that the host takes, from which on it may keep further cores, too. */
const MIN_WITHHELD_SHARE = 0.05;

/** Whether what more cores would give may be kept by the machine's host. */
export function canHostWithholdCores(machine: MachineUse | null): boolean {
  return machine !== null && computeStealShare(machine.cpu) >= MIN_WITHHELD_SHARE;
}

/**
 * Share of the time that the machine's host took from a loop's thread while it was on a core. The kernel tells it of cores,
 * not of threads, so each is taken to lose the same part of what it wants; and its own time on a core is without that on some
 * kernels only. So it is told of loops that say themselves how busy they are, as a part of what else that is not; else it is 0.
 */
function estimateStolenShare({ run }: ThreadUse, block: Observation): number {
  if (!block.outside) return 0;
  const part = Math.min(MAX_STEAL_SHARE, computeStealShare(block.outside.cpu));
  return Math.max(0, Math.min((run * part) / (1 - part), run * computeUnexplainedBusyTime(block)));
}

/** Time that the loops are busy by their own account, and neither on a core nor ready for one: for each second on a core. */
function computeUnexplainedBusyTime(block: Observation): number {
  const { inside } = block;
  if (!inside || inside.utilisation === null) return 0;
  const mains = findServingProcesses(block).map(({ main }) => main);
  const run = mains.reduce((sum, main) => sum + main.run, 0);
  const queued = mains.reduce((sum, main) => sum + main.queued, 0);
  const busy = mains.length > 1 ? inside.busyLoops : inside.utilisation;
  return run === 0 ? 0 : (busy - run - queued) / run;
}

/** Beyond it what a thread has left says too little of what it wants. */
const MAX_STEAL_SHARE = 0.9;

/** Part of a rate that a block's answers may lack, as those to its last requests come later. */
const LATE_RESPONSE_SHARE = 0.1;

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
  return ended >= due - Math.max(LATE_RESPONSE_SHARE * due, 3 * Math.sqrt(due));
}

function deriveLoop(
  base: Observation,
  single: Observation | null,
  utilisation: number | null,
): Loop | null {
  const main = findBusiestProcess(base)?.main;
  if (!main) {
    if (utilisation === null) return null;
    const cpuMs = (utilisation * 1000) / Math.max(1, base.throughput);
    const own = { run: utilisation, queued: 0, stolen: 0, busy: utilisation, waiting: 0 };
    return { ...own, isFromProbe: true, busyMs: cpuMs, cpuMs, singleCpuMs: null };
  }
  const wanted = computeWantedShare(main, base);
  const busy = Math.min(1, utilisation ?? wanted);
  return {
    run: main.run,
    queued: main.queued,
    stolen: estimateStolenShare(main, base),
    busy,
    isFromProbe: utilisation !== null,
    // Where the kernel does not tell of queues, waiting for a core looks the same.
    waiting:
      utilisation === null || !base.outside?.hasRunQueueTimes ? 0 : Math.max(0, busy - wanted),
    busyMs: computeBusyMs(base) ?? 0,
    cpuMs: computeCpuMs(base) ?? 0,
    singleCpuMs: single ? computeCpuMs(single) : null,
  };
}

/** The facts with what further unchanged blocks showed: how busy the loop is, what a request costs it now, and who used the cores. */
export function refineMetrics(metrics: Metrics, blocks: Observation[]): Metrics {
  const costs = blocks.flatMap((block) => computeBusyMs(block) ?? []);
  if (!metrics.loop || costs.length === 0) return metrics;
  const all = [metrics.base, ...blocks];
  const loop = { ...metrics.loop, ...averageLoopTime(all), busyMs: median(costs) };
  return { ...metrics, machine: deriveMachineUse(all), loop };
}

/** How the busiest loop spent its time over several blocks, on average; `null` if none tells it as the first one does. */
function averageLoopTime(
  blocks: Observation[],
): Pick<Loop, 'run' | 'queued' | 'stolen' | 'busy' | 'waiting'> | null {
  const all = blocks.flatMap(
    (block) => deriveLoop(block, null, block.inside?.utilisation ?? null) ?? [],
  );
  const loops = all.filter(({ isFromProbe }) => isFromProbe === all[0]?.isFromProbe);
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
export function computeWantedShare(main: ThreadUse, block: Observation): number {
  return main.run + main.queued + estimateStolenShare(main, block);
}

/** CPU time of the main threads per response, ms; `null` if it is not seen or nothing was answered. */
export function computeCpuMs(block: Observation): number | null {
  const { throughput, outside } = block;
  if (!outside || throughput === 0) return null;
  const run = findServingProcesses(block).reduce((sum, { main }) => sum + main.run, 0);
  return (run * 1000) / throughput;
}

/** Time that the loops are busy per response, ms; `null` if it is not seen or nothing was answered. */
export function computeBusyMs(block: Observation): number | null {
  const { throughput, inside } = block;
  const mains = findWorkingProcesses(block).map(({ main }) =>
    Math.min(1, computeWantedShare(main, block)),
  );
  const seen = mains.length > 0 ? mains.reduce((sum, busy) => sum + busy, 0) : null;
  // One loop tells its own busy time best; of several each has a part of the requests.
  const busy = mains.length > 1 ? seen : (inside?.utilisation ?? seen);
  return busy === null || throughput === 0 ? null : (busy * 1000) / throughput;
}

/** Responses per second that the loops of a block can give at most, by their CPU time for each. */
export function computeLoopLimit(block: Observation): number | null {
  const cpuMs = computeCpuMs(block);
  if (!cpuMs || !block.outside) return null;
  const loops = Math.max(1, findWorkingProcesses(block).length);
  return (1000 * Math.min(loops, block.outside.cpu.cores)) / cpuMs;
}

/** The process of the server whose main thread ran most. */
export function findBusiestProcess(block: Observation): ProcessUse | null {
  const [first = null, ...others] = findServingProcesses(block);
  return others.reduce<ProcessUse | null>(
    (most, process) => (most && most.main.run >= process.main.run ? most : process),
    first,
  );
}

/** The processes that serve requests, as the probe tells: one that was started to compute has no loop that matters. Without it all. */
export function findServingProcesses({
  outside,
  inside,
}: Pick<Observation, 'outside' | 'inside'>): ProcessUse[] {
  const processes = outside?.processes ?? [];
  const known = processes.filter(({ pid }) => inside?.pids.includes(pid));
  return known.length > 0 ? known : processes;
}

/** The threads that these processes have besides their loops'. */
export function listOtherThreads(block: Observation): ThreadUse[] {
  return findServingProcesses(block).flatMap(({ others }) => others);
}

/** Those of them that did some of the work: a wrapper that waits for its child is none. */
export function findWorkingProcesses(block: Observation): ProcessUse[] {
  const processes = findServingProcesses(block);
  const most = Math.max(...processes.map(({ main }) => main.run));
  return processes.filter(({ main }) => main.run > most / 20);
}

/** Connections of the experiment that halves them, which are whole: of three it leaves two. */
export function halveConnections({ base }: Metrics): number {
  return Math.ceil(base.load.plan.connections / 2);
}

/** What that is of those there are: the throughput of requests that wait for nothing that queues falls as much. */
export function computeHalvedShare(metrics: Metrics): number {
  return halveConnections(metrics) / Math.max(1, metrics.base.load.plan.connections);
}

/** Share of a request's time that goes to opening its connection, where each has one; 0 where they are kept. */
export function computeOpeningShare({ base, responseMs }: Metrics): number {
  const { connections, requests, connectMs, tlsMs } = base.load;
  const each = connections.opened / Math.max(1, requests.ok + requests.statusErrors);
  if (each < 0.3) return 0;
  const opening = (connectMs.mean ?? 0) + (tlsMs.mean ?? 0);
  return opening / Math.max(0.001, responseMs + opening);
}

/** The dependency in which the requests spend most of their time. */
export function findMainDependency({ base }: Metrics): OutboundView | null {
  return findDependency(base.inside);
}

function findDependency(inside: Observation['inside']): OutboundView | null {
  const calls = inside?.outbound.filter((call) => !isMonitoringCall(call, inside.finished)) ?? [];
  return calls.reduce<OutboundView | null>(
    (most, call) =>
      most && most.waiting + most.answering >= call.waiting + call.answering ? most : call,
    null,
  );
}

/** A question that no request asks: of a driver that watches its server, or waits for jobs. */
export function isMonitoringCall({ origin, rate }: OutboundView, finished: number): boolean {
  return origin.startsWith(TCP_PREFIX) && rate < 0.1 * finished;
}

/** A time limit that leaves the usual answers alone: three times their median, on a scale of 1, 2, 5. */
function suggestDeadlineMs(inside: Observation['inside']): number | null {
  const usual = findDependency(inside)?.answerP50Ms;
  if (!usual) return null;
  const wanted = Math.max(10, usual * 3);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5, 10].find((digit) => digit * power >= wanted) ?? 10) * power;
}

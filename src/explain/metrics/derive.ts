import { computeMaxInFlight } from '../../load/streams.js';
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

/** Derives the metrics that the hypotheses are evaluated with from the observations of the baseline. */
export function deriveMetrics(seen: Observations): Metrics {
  const { base, single } = seen;
  const { load, inside, sockets } = base;
  const { plan, requests } = load;
  const model = plan.model;
  const completed = requests.ok + requests.statusErrors;
  return {
    ...seen,
    model,
    maxConcurrency: model === 'closed' ? computeMaxInFlight(load) : load.meanInFlight,
    inFlight: load.meanInFlight,
    throughput: base.throughput,
    goodput: base.throughput * (completed === 0 ? 0 : requests.ok / completed),
    errorShare: computeErrorShare([base]),
    responseMs: computeResponseMs(base),
    latencyMs: load.latencyMs.mean ?? computeResponseMs(base),
    unloadedLatencyMs: single && single.throughput > 0 ? computeResponseMs(single) : null,
    loop: deriveLoop(base, single, inside?.utilization ?? null),
    machine: deriveMachineUse([base]),
    connectionRamp: null,
    loopTime: null,
    poolJobs: null,
    writtenFiles: [],
    sockets,
    deadlineMs: suggestDeadlineMs(inside),
  };
}

/** Computes the share of the requests of several blocks that failed or were answered with an error. */
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

/**
 * Computes the mean response time by Little's law, which requests at the edges of the block do not distort. Where the
 * queue of an open load grows the law does not hold: there it is the mean of the measured latencies.
 */
export function computeResponseMs(block: Observation): number {
  const { load, throughput } = block;
  const grows = load.plan.model === 'open' && !sustainsRate(block);
  if (grows || throughput === 0) return load.latencyMs.mean ?? 0;
  return (load.meanInFlight * 1000) / throughput;
}

/**
 * Averages the use of the machine over several blocks, as other programs on it come and go; `null` if it was not seen.
 */
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
      dependencies: mean(({ cpu }) => cpu.dependencies),
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

/** Minimum of the cores that other programs use if that is more than the noise of a machine. */
export const MIN_FOREIGN_CORES = 0.3;

/** Computes the cores that programs use to which no connection of the server is known. */
export function computeForeignCores({ others, dependencies }: OutsideView['cpu']): number {
  return Math.max(0, others - dependencies);
}

/** Computes the share of the wanted CPU time that the machine's host takes (steal). */
export function computeStealShare({ wanted, steal }: OutsideView['cpu']): number {
  return wanted > 0 ? steal / wanted : 0;
}

/** Minimum share of steal at which the host may withhold further cores as well. */
const MIN_WITHHELD_SHARE = 0.05; // Source: judgment, docs/decisions/0006-explain.md

/** Whether the machine's host may withhold further cores, so that more processes may gain nothing. */
export function canHostWithholdCores(machine: MachineUse | null): boolean {
  return machine !== null && computeStealShare(machine.cpu) >= MIN_WITHHELD_SHARE;
}

/**
 * Estimates the share of the time that the machine's host took from a loop's thread while it was on a core. The kernel
 * reports steal per core, not per thread: each thread is assumed to lose the same part of the CPU time that it wants.
 * Only some kernels leave stolen time out of a thread's time on a core. The estimate is therefore bounded by the busy
 * time that the loops report themselves and nothing else explains; without a probe it is 0.
 */
function estimateStolenShare({ run }: ThreadUse, block: Observation): number {
  if (!block.outside) return 0;
  const part = Math.min(MAX_STEAL_SHARE, computeStealShare(block.outside.cpu));
  return Math.max(0, Math.min((run * part) / (1 - part), run * computeUnexplainedBusyTime(block)));
}

/**
 * Computes the time that the loops report as busy while they neither ran nor were ready to run, per second on a core.
 */
function computeUnexplainedBusyTime(block: Observation): number {
  const { inside } = block;
  if (!inside || inside.utilization === null) return 0;
  const mains = findServingProcesses(block).map(({ main }) => main);
  const run = mains.reduce((sum, main) => sum + main.run, 0);
  const queued = mains.reduce((sum, main) => sum + main.queued, 0);
  const busy = mains.length > 1 ? inside.busyLoops : inside.utilization;
  return run === 0 ? 0 : (busy - run - queued) / run;
}

/** Maximum share of steal: beyond it the remaining time of a thread says too little of the time that it wants. */
const MAX_STEAL_SHARE = 0.9;

/** Share of the responses that a block may lack, as those to its last requests arrive after its end. */
const LATE_RESPONSE_SHARE = 0.1;

/**
 * Whether an open load is sent and answered at its rate. With enough connections every request is sent, and the queue
 * grows in the server: so the responses count too.
 */
export function sustainsRate({ load, throughput }: Observation): boolean {
  const { plan, requests, warnings } = load;
  const failed = warnings.some(({ id }) => id === 'rate-not-reached' || id === 'not-sent');
  if (failed || requests.sent === 0) return false;
  if (plan.rate === null) return true;
  const seconds = load.durationMs / 1000;
  const due = plan.rate * seconds;
  const ended = throughput * seconds + requests.transportErrors + requests.timeouts;
  // The standard deviation of the number of Poisson arrivals is its square root.
  return ended >= due - Math.max(LATE_RESPONSE_SHARE * due, 3 * Math.sqrt(due));
}

function deriveLoop(
  base: Observation,
  single: Observation | null,
  utilization: number | null,
): Loop | null {
  const main = findBusiestProcess(base)?.main;
  if (!main) {
    if (utilization === null) return null;
    const cpuMs = (utilization * 1000) / Math.max(1, base.throughput);
    const own = { run: utilization, queued: 0, stolen: 0, busy: utilization, waiting: 0 };
    return { ...own, isFromProbe: true, busyMs: cpuMs, cpuMs, singleCpuMs: null };
  }
  const wanted = computeWantedShare(main, base);
  const busy = Math.min(1, utilization ?? wanted);
  return {
    run: main.run,
    queued: main.queued,
    stolen: estimateStolenShare(main, base),
    busy,
    isFromProbe: utilization !== null,
    // Where the kernel does not report run queues, waiting for a core looks the same.
    waiting:
      utilization === null || !base.outside?.hasRunQueueTimes ? 0 : Math.max(0, busy - wanted),
    busyMs: computeBusyMs(base) ?? 0,
    cpuMs: computeCpuMs(base) ?? 0,
    singleCpuMs: single ? computeCpuMs(single) : null,
  };
}

/**
 * Updates the metrics with further blocks of the unchanged load: the loop's use, its time per request, and the cores.
 */
export function refineMetrics(metrics: Metrics, blocks: Observation[]): Metrics {
  const costs = blocks.flatMap((block) => computeBusyMs(block) ?? []);
  if (!metrics.loop || costs.length === 0) return metrics;
  const all = [metrics.base, ...blocks];
  const loop = { ...metrics.loop, ...averageLoopTime(all), busyMs: median(costs) };
  return { ...metrics, machine: deriveMachineUse(all), loop };
}

/**
 * Averages the time of the busiest loop over the blocks that measure it as the first one does; `null` if there is none.
 */
function averageLoopTime(
  blocks: Observation[],
): Pick<Loop, 'run' | 'queued' | 'stolen' | 'busy' | 'waiting'> | null {
  const all = blocks.flatMap(
    (block) => deriveLoop(block, null, block.inside?.utilization ?? null) ?? [],
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

/**
 * Computes the share of the time that a thread wanted a core: it ran, was ready to run, or the host had taken its core.
 */
export function computeWantedShare(main: ThreadUse, block: Observation): number {
  return main.run + main.queued + estimateStolenShare(main, block);
}

/** Computes the CPU time of the main threads per response in ms; `null` if it was not seen or nothing was answered. */
export function computeCpuMs(block: Observation): number | null {
  const { throughput, outside } = block;
  if (!outside || throughput === 0) return null;
  const run = findServingProcesses(block).reduce((sum, { main }) => sum + main.run, 0);
  return (run * 1000) / throughput;
}

/** Computes the busy time of the loops per response in ms; `null` if it was not seen or nothing was answered. */
export function computeBusyMs(block: Observation): number | null {
  const { throughput, inside } = block;
  const mains = findWorkingProcesses(block).map(({ main }) =>
    Math.min(1, computeWantedShare(main, block)),
  );
  const seen = mains.length > 0 ? mains.reduce((sum, busy) => sum + busy, 0) : null;
  // A single loop measures its busy time best; of several loops each serves a part of the requests.
  const busy = mains.length > 1 ? seen : (inside?.utilization ?? seen);
  return busy === null || throughput === 0 ? null : (busy * 1000) / throughput;
}

/** Computes the maximum responses per second of the loops, by their CPU time per response. */
export function computeLoopLimit(block: Observation): number | null {
  const cpuMs = computeCpuMs(block);
  if (!cpuMs || !block.outside) return null;
  const loops = Math.max(1, findWorkingProcesses(block).length);
  return (1000 * Math.min(loops, block.outside.cpu.cores)) / cpuMs;
}

/** Finds the process of the server whose main thread used the most CPU time. */
export function findBusiestProcess(block: Observation): ProcessUse | null {
  const [first = null, ...others] = findServingProcesses(block);
  return others.reduce<ProcessUse | null>(
    (most, process) => (most && most.main.run >= process.main.run ? most : process),
    first,
  );
}

/** Finds the processes that serve requests, according to the probe; without a probe, all processes of the server. */
export function findServingProcesses({
  outside,
  inside,
}: Pick<Observation, 'outside' | 'inside'>): ProcessUse[] {
  const processes = outside?.processes ?? [];
  const known = processes.filter(({ pid }) => inside?.pids.includes(pid));
  return known.length > 0 ? known : processes;
}

/** Lists the threads of the serving processes other than those of their event loops. */
export function listOtherThreads(block: Pick<Observation, 'outside' | 'inside'>): ThreadUse[] {
  return findServingProcesses(block).flatMap(({ others }) => others);
}

/** Finds the serving processes that did a part of the work: not, for example, a wrapper that waits for its child. */
export function findWorkingProcesses(block: Observation): ProcessUse[] {
  const processes = findServingProcesses(block);
  const maxRun = Math.max(...processes.map(({ main }) => main.run));
  return processes.filter(({ main }) => main.run > maxRun / 20);
}

/** Computes half of the connections, rounded up, for the experiment 'connections-half'. */
export function halveConnections({ base }: Metrics): number {
  return Math.ceil(base.load.plan.connections / 2);
}

/** Computes the share of the connections that 'connections-half' leaves. Throughput falls to it where nothing queues. */
export function computeHalvedShare(metrics: Metrics): number {
  return halveConnections(metrics) / Math.max(1, metrics.base.load.plan.connections);
}

/** Computes the share of a request's time that opening its connection takes; 0 where connections are kept. */
export function computeOpeningShare({ base, responseMs }: Metrics): number {
  const { connections, requests, connectMs, tlsMs } = base.load;
  const each = connections.opened / Math.max(1, requests.ok + requests.statusErrors);
  if (each < 0.3) return 0;
  const opening = (connectMs.mean ?? 0) + (tlsMs.mean ?? 0);
  return opening / Math.max(0.001, responseMs + opening);
}

/** Finds the dependency in which the requests spend most of their time. */
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

/** Whether a call is made by no request: by a driver that monitors its server, or waits for jobs. */
export function isMonitoringCall({ origin, rate }: OutboundView, finished: number): boolean {
  return origin.startsWith(TCP_PREFIX) && rate < 0.1 * finished;
}

/**
 * Suggests a time limit that usual responses stay below: three times their median, rounded up to 1, 2 or 5 x 10^n ms.
 */
function suggestDeadlineMs(inside: Observation['inside']): number | null {
  const usual = findDependency(inside)?.answerP50Ms;
  if (!usual) return null;
  const wanted = Math.max(10, usual * 3);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5, 10].find((digit) => digit * power >= wanted) ?? 10) * power;
}

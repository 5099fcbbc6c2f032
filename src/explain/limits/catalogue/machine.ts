import { defineGroup } from './entry.js';

/** Limits of the machine, of the other programs on it, and of its network. */
export const MACHINE = defineGroup('machine', {
  'shared-cores': {
    title: 'Server and load generator share cores',
    what: 'Both run on one machine with too few cores and take CPU time from each other.',
    shows:
      "The server's main thread is often ready to run without a core, and the generator uses most of the other cores.",
    experiment: 'None of its own: the generator cannot move to another machine.',
    formula: 'stretch = (time on a core + time queued for one) / time on a core',
    remedy: 'Separate cores for the generator (taskset), or another machine.',
    detected: 'by its signature',
  },
  'cpu-quota': {
    title: 'A CPU quota',
    what: 'The container has a limited CPU time per period of 100 ms. When it is used up the server stops until the next period.',
    shows: 'Many periods of the cgroup end with its processes stopped (throttled).',
    experiment:
      "None of its own: explain does not change the quota. 'connections x2' yields nothing.",
    formula: 'maximum = cores of the quota / CPU time per request',
    remedy: 'A higher quota (cpu.max), or none.',
    detected: 'by its signature',
    note: 'The mean CPU usage may look low: a burst within a period is enough.',
  },
  'noisy-machine': {
    title: 'Other programs on the machine',
    what: 'Other processes, or other machines on the same host, take the cores.',
    shows:
      "Other processes use more CPU time than the generator and the server's thread waits for a core, or the host takes its core for a good part of the time (steal).",
    experiment: 'None of its own: explain does not touch other programs.',
    formula:
      'stretch = (time on a core + time queued for one, or stolen) / time on a core; steal is assumed to take the same share of the wanted CPU time of each thread',
    remedy: 'A quiet machine with dedicated cores, or stop the other programs.',
    detected: 'by its signature',
    note: 'A difference below the noise of unchanged blocks never counts as an effect.',
  },
  bandwidth: {
    title: 'The network link is full',
    what: 'The bytes of the responses fill the link.',
    shows:
      'The busiest network interface is near its speed; or on most connections the server has sent bytes that have not arrived, though the client reads at once.',
    experiment:
      "None of its own. 'connections x2' yields nothing, and the short responses for an 'path not found' arrive faster.",
    formula: 'throughput = speed of the link / bytes per response',
    remedy: 'Fewer bytes (compression, caching), or a faster link.',
    detected: 'by its signature',
    note: 'Bytes in transit are measured only if the server is on this machine.',
  },
  'packet-loss': {
    title: 'Packet loss',
    what: 'Lost TCP segments are retransmitted after at least 200 ms.',
    shows: 'A measurable share of the TCP segments is retransmitted.',
    experiment: 'None of its own: it would take another network path.',
    formula: 'time added = share of retransmitted segments x 200 ms',
    remedy: 'Fix the network between client and server.',
    detected: 'by its signature',
  },
  disk: {
    title: 'The disk',
    what: 'Requests wait for a disk: reads, fsync, or memory that was swapped out.',
    shows: 'Tasks wait for the disk a good part of the time (pressure), or pages are read from it.',
    experiment: "None of its own: explain does not move files. 'connections x2' yields nothing.",
    formula: 'throughput = operations per second of the disk / operations per request',
    remedy: 'Fewer or larger accesses, a cache in memory, a faster disk.',
    detected: 'by its signature',
    note: 'Needs a kernel with pressure information (/proc/pressure/io).',
  },
});

import { defineGroup } from './entry.js';

/** The machine, what else runs on it, and its network. */
export const MACHINE = defineGroup('machine', {
  'shared-cores': {
    title: 'Server and load generator share cores',
    what: 'Both run on one machine with too few cores for both, and take the CPU from each other.',
    shows:
      "The server's main thread is often ready to run without a core, and the generator uses most of the rest.",
    experiment: 'None of its own: the generator cannot leave the machine by itself.',
    formula: 'stretch = (time on a core + time queued for one) / time on a core',
    remedy: 'Other cores for the generator (taskset), or another machine.',
    detected: 'by its signature',
  },
  'cpu-quota': {
    title: 'A quota of CPU',
    what: 'The container may use only so much CPU per period of 100 ms. When it is used up the server stands still until the next one.',
    shows: 'Many periods of the cgroup end with its processes stopped (throttled).',
    experiment: "None of its own: the quota is not changed. 'connections x2' gives nothing.",
    formula: 'most = cores of the quota / CPU time per request',
    remedy: 'A higher quota (cpu.max), or none.',
    detected: 'by its signature',
    note: 'The mean CPU may look low: a burst within a period is enough.',
  },
  'noisy-machine': {
    title: 'Other programs on the machine',
    what: 'Other processes, or other machines on the same host, take the cores.',
    shows:
      "Other processes use more CPU than the generator and the server's thread waits for a core, or the host takes the core away for a good part of the time that this thread wants one (steal).",
    experiment: 'None of its own: what else runs is left alone.',
    formula:
      'stretch = (time on a core + time queued for one, or stolen) / time on a core; of what is stolen each thread is taken to lose the same part of what it wants',
    remedy: 'A quiet machine (one with cores of its own), or stop what else runs.',
    detected: 'by its signature',
    note: 'What differs by less than the noise of unchanged blocks is never taken for an effect.',
  },
  bandwidth: {
    title: 'The network link is full',
    what: 'The bytes of the responses fill the link.',
    shows:
      'The busiest network interface carries nearly its speed; or most connections hold bytes that the server has sent and a client that reads at once has not got.',
    experiment:
      "None of its own. 'connections x2' gives nothing, and the short answers for an 'unknown path' come faster.",
    formula: 'throughput = speed of the link / bytes per response',
    remedy: 'Fewer bytes (compression, caching), or a faster link.',
    detected: 'by its signature',
    note: 'The bytes on the way are seen where the server is on this machine.',
  },
  'packet-loss': {
    title: 'Lost packets',
    what: 'Segments get lost and are sent again, after 200 ms at the least.',
    shows: 'A measurable share of the TCP segments is sent again.',
    experiment: 'None of its own: another path would show it.',
    formula: 'time added = share sent again x 200 ms',
    remedy: 'The network between client and server.',
    detected: 'by its signature',
  },
  disk: {
    title: 'The disk',
    what: 'Requests wait for a disk: reads, fsync, or memory that was swapped out.',
    shows: 'Tasks wait for the disk a good part of the time (pressure), or pages are read from it.',
    experiment: "None of its own: files are left where they are. 'connections x2' gives nothing.",
    formula: 'throughput = operations per second of the disk / operations per request',
    remedy: 'Fewer or larger accesses, a cache in memory, a faster disk.',
    detected: 'by its signature',
    note: 'Needs a kernel with pressure information (/proc/pressure/io).',
  },
});

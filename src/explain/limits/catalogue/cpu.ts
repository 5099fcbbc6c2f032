import { defineGroup } from './entry.js';

const BUSY_LOOP_NOTE =
  'The experiments confirm that the loop is busy; that this limit is the cause is measured, not tried.';

/** Limits of the server's own CPU time. */
export const CPU = defineGroup('CPU', {
  'event-loop-cpu': {
    title: 'The event loop is busy',
    what: 'The JavaScript of a process runs on one thread, and that thread computes all of the time.',
    shows:
      "The main thread runs, or is ready to run, nearly all of the time. Requests wait unread in the server's sockets, and the response time grows with the connections.",
    experiment:
      "'CPU injection' adds a little work to each request: throughput falls by exactly its share, while an idle loop would absorb it. 'connections x2' yields the same throughput and twice the response time.",
    formula:
      'maximum = 1 / CPU time per request; ratio with added work = CPU time / (CPU time + added time)',
    remedy:
      'Less work per request (the profile lists the most expensive functions), or more processes on other cores.',
    detected: 'by experiment',
    note: "'CPU injection' needs the probe; without it the busy thread is the evidence.",
  },
  'event-loop-blocked': {
    title: 'The event loop is blocked by long tasks',
    what: 'A few callbacks compute for a long time each. All other requests wait meanwhile.',
    shows:
      'Single callbacks run for 20 ms or more and take a good part of the loop time or of the response times, though most requests are short. The probe names the route that caused them.',
    experiment: 'None of its own: it would require a load without the long requests.',
    formula:
      'mean wait = sum of the squares of the long tasks / (2 x time), for a request that arrives at any time',
    remedy: 'Move the long work to a worker thread, or split it into short pieces.',
    detected: 'by its signature',
    note: `Needs the probe. ${BUSY_LOOP_NOTE}`,
  },
  'event-loop-sync-wait': {
    title: 'The event loop waits in synchronous calls',
    what: 'A synchronous call (fs.readFileSync, execSync, Atomics.wait) blocks the loop while it waits for something else, without using CPU time.',
    shows:
      "The loop reports that it is busy, but its thread is neither on a core nor queued for one, and the machine's host has not taken its core.",
    experiment: 'None of its own: it would require another implementation of the call.',
    formula: 'time waited = busy - on a core - queued for a core - stolen by the host',
    remedy: 'The asynchronous form of the call.',
    detected: 'by its signature',
    note: `Needs the probe, and Linux. ${BUSY_LOOP_NOTE}`,
  },
  'gc-young': {
    title: 'Collecting short-lived objects',
    what: "Each request creates many short-lived objects, and collecting them takes a good part of the loop's time.",
    shows: "Minor collections take a good part of the loop's busy time.",
    experiment:
      "'young generation x4' restarts the server with --max-semi-space-size=64: fewer collections, more throughput.",
    formula: 'maximum gain = 1 / (1 - share of the time in collections)',
    remedy: 'Fewer objects per request, or a larger young generation.',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  'gc-old': {
    title: 'Collecting long-lived objects',
    what: 'Collections of the whole heap stop the loop: many objects stay in memory, or the heap is nearly full.',
    shows:
      "Major collections take a good part of the loop's busy time; the heap may be near its limit.",
    experiment: "'heap x2' restarts the server with twice the heap: fewer collections.",
    formula: 'maximum gain = 1 / (1 - share of the time in collections)',
    remedy:
      'Keep fewer objects for longer than a request, or a larger heap (--max-old-space-size).',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  'memory-growth': {
    title: 'Memory grows with the requests',
    what: 'Every request leaves something in memory for good. Sooner or later the heap is full.',
    shows:
      'The heap after a full collection grows in proportion to the requests; or a process ended because its heap was full.',
    experiment:
      "'memory after collection' repeats requests and full collections: a leak continues at the same rate, a cache fills once and stops.",
    formula: 'time left = free heap / (bytes left per request x requests per second)',
    remedy: 'Find the leak: compare two heap snapshots.',
    detected: 'by its signature',
    note: 'Needs the probe. The experiment can rule the limit out but not confirm it, as a constant rate is not a change.',
  },
  compression: {
    title: 'Compressing responses',
    what: 'Each response is compressed again, which takes more CPU time than producing it.',
    shows:
      'Responses have a Content-Encoding, and compressing such a body explains how busy the loop or the thread pool is.',
    experiment: "'identity encoding' asks for uncompressed responses: throughput rises.",
    formula: 'gain = CPU time / (CPU time - time to compress)',
    remedy:
      'Compress once and cache the result, use a lower level (Brotli at its default of 11 takes many times as long as at 4), or compress in a proxy.',
    detected: 'by experiment',
  },
  logging: {
    title: 'Writing logs',
    what: 'Each request writes log lines, and if the output is a file or a terminal Node.js waits for each write.',
    shows:
      "Writes to stdout, stderr and files, or a logger that buffers its lines, take a good part of the loop's time.",
    experiment:
      "'output discarded' discards output to stdout and stderr: throughput rises by the cost of the writes.",
    formula:
      'gain = 1 / (1 - share of the time writing), plus that of formatting, which is not measured',
    remedy: 'Log less, or to an asynchronous destination: a pipe, a worker thread.',
    detected: 'by experiment',
    note: "Needs the probe. By its signature if the logger buffers its lines: the profile measures the logger's time.",
  },
  'synchronous-writes': {
    title: 'Synchronous writes and flushes',
    what: 'Requests write to files with calls that wait (writeFileSync, appendFileSync, writeSync), or flush them to disk (fsyncSync). The loop serves nothing meanwhile. The cost may depend on how much was written before, if the whole state is written each time.',
    shows:
      "Such calls take a good part of the loop's time. The loop may be on a core meanwhile (large writes) or not (flushes).",
    experiment:
      "'file writes in memory' restarts the server with empty files in memory in place of those that it writes: throughput rises by the cost of the disk and of what was written before. 'restart' restarts it with its files: the cost stays, unlike that of ageing (degrades-over-time).",
    formula: 'gain = 1 / (1 - share of the time in these calls)',
    remedy:
      'Append instead of rewriting, write asynchronously, and write and flush for many requests at once.',
    detected: 'by experiment',
    note: "Needs the probe; 'file writes in memory' needs a server that millrace started. Output to stdout and stderr is logging.",
  },
  'single-core': {
    title: 'One process on one core',
    what: 'One process uses one core for its JavaScript, and the other cores are idle.',
    shows: 'One main thread runs all of the time, and there are idle cores.',
    experiment:
      "'second process' starts the command a second time, each process with half of the connections: nearly twice the throughput, as far as there are cores.",
    formula: 'maximum = processes x throughput of one process, until the next limit',
    remedy: 'More processes: node:cluster, or copies behind a proxy.',
    detected: 'by experiment',
    note: 'event-loop-cpu has more weight and is the verdict then; its remedy states the result of the second process. The experiment needs a server that millrace started.',
  },
  'worker-imbalance': {
    title: 'Workers are not equally busy',
    what: 'Several processes share the port, but connections are not spread evenly: one process is saturated while others are idle.',
    shows: 'The busiest process runs all of the time, and much more than the mean of all.',
    experiment: "None of its own; the connections of 'connections x2' may be spread better.",
    formula: 'balanced throughput = throughput x busiest / mean',
    remedy: 'More connections, a shorter keep-alive, or another scheduling policy for connections.',
    detected: 'by its signature',
  },
  'degrades-over-time': {
    title: 'The cost of a request grows',
    what: 'Each request adds to something (a list, listeners, routes) that later requests go through.',
    shows: 'CPU time per response grows linearly with the number of requests answered before.',
    experiment: "'restart' restarts the server: CPU time per response falls back.",
    formula: 'slope = growth of CPU time per response / requests answered',
    remedy: 'Find what grows. Until then a restart helps for a while.',
    detected: 'by experiment',
    note: 'The experiment needs a server that millrace started.',
  },
  'idle-work': {
    title: 'Background work',
    what: 'A timer or a scan keeps the loop busy without any request.',
    shows: 'Before the load the server uses a good part of a core.',
    experiment: 'None of its own: explain cannot stop the timer.',
    formula: 'maximum gain = 1 / (1 - CPU without load)',
    remedy: 'Find the timer in the profile, and run it less often.',
    detected: 'by its signature',
    note: BUSY_LOOP_NOTE,
  },
});

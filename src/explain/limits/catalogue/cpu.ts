import { defineGroup } from './entry.js';

const BUSY_LOOP_NOTE =
  'Where the loop is busy, the experiments show the busy loop; that this is what keeps it busy is seen, not tried.';

/** The server's own work is the limit. */
export const CPU = defineGroup('CPU', {
  'event-loop-cpu': {
    title: 'The event loop is busy',
    what: 'JavaScript of one process runs on one thread, and that thread computes all of the time.',
    shows:
      "The main thread runs, or is ready to run, nearly all of the time. Requests wait unread in the server's sockets, and the response time grows with the connections.",
    experiment:
      "'cpu injection' adds a little work to each request: throughput falls by just its share. Anywhere else it would vanish in the slack. 'connections x2' gives the same throughput and twice the response time.",
    formula: 'most = 1 / CPU time per request; with work added: CPU time / (CPU time + added time)',
    remedy:
      'Less work per request: the functions that cost most are in the profile. Or more processes on other cores.',
    detected: 'by experiment',
    note: "'cpu injection' needs the probe inside the server; without it the busy thread is the evidence.",
  },
  'event-loop-blocked': {
    title: 'The event loop is blocked by long tasks',
    what: 'A few callbacks compute for a long time each. All other requests stand still meanwhile.',
    shows:
      'Single callbacks hold the loop for 20 ms or more and take a good part of its time or of the response times, though most requests are short. The probe names the route that did it.',
    experiment:
      'None of its own: to show it, the long requests would have to be left out of the load.',
    formula:
      'mean wait = sum of the squares of the long tasks / (2 x time), for a request that comes at any moment',
    remedy: 'Move the long work to a worker thread, or cut it into pieces.',
    detected: 'by its signature',
    note: `Needs the probe inside the server. ${BUSY_LOOP_NOTE}`,
  },
  'event-loop-sync-wait': {
    title: 'The event loop is held by synchronous waiting',
    what: 'A synchronous call (fs.readFileSync, execSync, Atomics.wait) waits for something else, and the loop with it. No CPU is used.',
    shows:
      "By its own account the loop is busy, but its thread is neither on a core nor queued for one, nor does the machine's host keep it from one.",
    experiment: 'None of its own: the call would have to be replaced.',
    formula: 'time waited = busy - on a core - queued for a core - stolen by the host',
    remedy: 'The asynchronous form of the call.',
    detected: 'by its signature',
    note: `Needs the probe inside the server, and Linux. ${BUSY_LOOP_NOTE}`,
  },
  'gc-young': {
    title: 'Collecting short-lived objects',
    what: 'Each request makes many objects that die soon, and collecting them takes a good part of the loop.',
    shows: "Minor collections take a good part of the loop's busy time.",
    experiment:
      "'young generation x4' starts the server again with --max-semi-space-size=64: fewer collections, more throughput.",
    formula: 'gain at most = 1 / (1 - share of the time in collections)',
    remedy: 'Fewer objects per request, or a larger young generation.',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  'gc-old': {
    title: 'Collecting long-lived objects',
    what: 'Collections of the whole heap stop the loop: much is kept, or the heap is nearly full.',
    shows:
      "Major collections take a good part of the loop's busy time; the heap may be near its limit.",
    experiment: "'heap x2' starts the server again with twice the heap: fewer collections.",
    formula: 'gain at most = 1 / (1 - share of the time in collections)',
    remedy: 'Keep fewer objects longer than a request, or a larger heap (--max-old-space-size).',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  'memory-growth': {
    title: 'Memory grows with the requests',
    what: 'Something of every request stays in memory for good. Sooner or later the heap is full.',
    shows:
      'After a full collection more is held than before, by so many bytes per request; or a process has ended with its heap full.',
    experiment:
      "'memory after rest' repeats requests and full collections: a leak goes on at the same rate, a cache fills once and stops.",
    formula: 'time left = free heap / (bytes kept per request x requests per second)',
    remedy: 'Find what holds them: compare two heap snapshots.',
    detected: 'by its signature',
    note: 'Needs the probe. The experiment can rule it out; a rate that stays the same is no change that would confirm it.',
  },
  compression: {
    title: 'Compressing responses',
    what: 'Each response is compressed anew, and that costs more CPU than making it.',
    shows:
      'Responses have a Content-Encoding, and the loop or the thread pool is busy to a degree that compressing such a body explains.',
    experiment: "'identity encoding' asks for uncompressed responses: throughput rises.",
    formula: 'gain = CPU time / (CPU time - time to compress)',
    remedy:
      'Compress once and keep the result, use a lower level (Brotli at its default of 11 takes many times as long as at 4), or let a proxy do it.',
    detected: 'by experiment',
  },
  logging: {
    title: 'Writing logs',
    what: 'Lines are written for each request, and where the output is a file or a terminal Node.js waits for each write.',
    shows:
      "Writes to stdout, stderr and files, or a logger that writes later, take a good part of the loop's time.",
    experiment:
      "'output muted' drops what the server writes to stdout and stderr: throughput rises by the write and what goes with it.",
    formula:
      'gain = 1 / (1 - share of the time writing); formatting, which is not measured, comes on top',
    remedy: 'Log less, or to an asynchronous destination: a pipe, a worker thread.',
    detected: 'by experiment',
    note: 'Needs the probe inside the server. By its signature where the logger writes later: the profile tells how much of the time it takes.',
  },
  'single-core': {
    title: 'One process on one core',
    what: 'One process uses one core for its JavaScript, and others are idle.',
    shows: 'One main thread runs all of the time, and there are idle cores.',
    experiment:
      "'second process' starts the command once more beside the first, each with half of the connections: nearly twice the throughput, as far as there are cores.",
    formula: 'most = processes x throughput of one, until the next limit',
    remedy: 'More processes: node:cluster, or copies behind a proxy.',
    detected: 'by experiment',
    note: 'It weighs less than event-loop-cpu, which is the verdict then, and what the second process gave stands in its remedy. The experiment needs a server that millrace started.',
  },
  'worker-imbalance': {
    title: 'Workers are not equally busy',
    what: 'Several processes share the port, but the connections are not spread evenly: one is full while others rest.',
    shows: 'Of several processes the busiest runs all of the time and much more than the mean.',
    experiment: "None of its own; 'connections x2' may spread better.",
    formula: 'balanced throughput = throughput x busiest / mean',
    remedy: 'More connections, a shorter keep-alive, or another scheduling of connections.',
    detected: 'by its signature',
  },
  'degrades-over-time': {
    title: 'Requests become dearer',
    what: 'Something grows with each request (a list, listeners, routes) and is gone through by each that follows.',
    shows: 'CPU time per response grows in a straight line with the requests answered before.',
    experiment: "'fresh start' starts the server again: CPU time per response falls back.",
    formula: 'slope = growth of CPU time per response / requests answered',
    remedy: 'Find what grows. Until then a restart helps for a while.',
    detected: 'by experiment',
    note: 'The experiment needs a server that millrace started.',
  },
  'idle-work': {
    title: 'Work that nobody asked for',
    what: 'A timer or a scan keeps the loop working without any request.',
    shows: 'Before the load the server uses a good part of a core.',
    experiment: 'None of its own: the timer would have to be stopped.',
    formula: 'gain at most = 1 / (1 - CPU without load)',
    remedy: 'Find the timer in the profile, and do its work less often.',
    detected: 'by its signature',
    note: BUSY_LOOP_NOTE,
  },
});

import { defineGroup } from './entry.js';

/** The event loop is idle, and requests queue for something behind it. */
export const WAITING = defineGroup('waiting inside', {
  threadpool: {
    title: 'The thread pool is full',
    what: 'File access, DNS lookups by name, crypto and zlib share the threads of libuv, four by default. Further jobs wait.',
    shows:
      "The loop is idle, responses queue, and the probe's own trivial job waits long for a thread.",
    experiment:
      "'pool wait, connections x2' sees the wait grow with the connections. 'thread pool x4' starts the server again with a larger pool: up to x 4 for jobs that wait, no more than the cores allow for jobs that compute.",
    formula: 'most = least of: threads / time per job, cores / CPU time per job',
    remedy:
      'UV_THREADPOOL_SIZE larger for jobs that wait; fewer or cheaper jobs, or more cores, for jobs that compute.',
    detected: 'by experiment',
    note: "Needs the probe; 'thread pool x4' needs a server that millrace started.",
  },
  'outbound-pool': {
    title: 'Too few connections to another service',
    what: 'Calls to a service or database share a bounded number of connections, and wait for a free one.',
    shows:
      'The loop is idle, and calls wait for a socket; or, of a client that the probe does not know, the number of connections to a peer stays the same while requests queue.',
    experiment:
      "'sockets x2' doubles maxSockets of the agents and the connections of pools of undici: throughput rises, up to x 2. A 'second process' has a pool of its own.",
    formula: 'most = connections / answer time of the service',
    remedy: 'A larger pool: connections = wanted requests per second x answer time.',
    detected: 'by experiment',
    note: 'Pools that are neither an agent of node:http nor of undici (databases) are told by the constant number of their connections, all of which wait for an answer.',
  },
  'slow-dependency': {
    title: 'A slow service without a time limit',
    what: 'Most calls to a service are fast, a few take very long, and those few hold most of the requests in flight.',
    shows:
      'The mean response time is far above the median, or the answer times of the service have a heavy tail; most requests in flight wait for it. At a rate that is served: those that wait hold much memory.',
    experiment:
      "'client deadline' lets the client give up after a time that usual answers keep: more requests end per second, as predicted from the distribution.",
    formula: 'throughput = requests in flight / mean of min(response time, time limit)',
    remedy: 'A time limit on the calls, and an answer for those that run into it.',
    detected: 'by experiment',
    note: 'Needs the probe inside the server, to know the service and its answer times.',
  },
  'saturated-dependency': {
    title: 'Another service is the limit',
    what: 'A service that is called is itself at its limit. Nothing in this one helps.',
    shows:
      'The loop is idle, most requests wait for the service, and it answers far slower than to a single call.',
    experiment:
      "'dependency, connections x2' sees the answer time of the service grow with the connections while throughput stays.",
    formula: 'most of the service = calls in flight / its answer time',
    remedy: 'Scale that service, or call it less: cache, batch.',
    detected: 'by experiment',
    note: 'Needs the probe inside the server. Of protocols other than HTTP it sees the time to the first bytes of an answer.',
  },
  serialized: {
    title: 'One at a time inside',
    what: 'Something lets requests through one after the other, or a few at a time: a mutex, p-limit, a queue, a lock in a database, a worker thread that computes.',
    shows:
      'The loop is idle, the threads of the server leave cores idle, throughput times the response time alone is about one (or one for each thread beside the loop that is always busy), and no pool or service explains the queue.',
    experiment:
      "None of its own: 'connections x2', 'thread pool x4' and 'sockets x2' change nothing. With a 'second process' throughput doubles if it lies in what the command starts, and stays if it lies outside.",
    formula: 'admitted at a time = throughput x response time alone',
    remedy: 'Search the code for what lets one in after the other.',
    detected: 'by its signature',
    note: 'Found by elimination: it says how many are admitted at a time, not by what.',
  },
});

import { defineGroup } from './entry.js';

/** Limits behind an idle event loop, which requests queue for. */
export const WAITING = defineGroup('waiting inside', {
  threadpool: {
    title: 'The thread pool is full',
    what: 'File access, dns.lookup(), crypto and zlib share the threads of libuv, four by default. Further jobs wait. Name look-ups get at most half of the threads.',
    shows:
      'The loop is idle, requests queue, and a trivial job of the probe waits long for a thread. Look-ups queue while other jobs do not: then most requests in flight have one pending. What the pool runs is counted by the kind of the jobs.',
    experiment:
      "'pool wait, connections x2' measures that the wait grows with the connections. 'thread pool x4' restarts the server with a larger pool: up to x 4 for jobs that wait, as far as the cores allow for jobs that compute.",
    formula: 'maximum = minimum of threads / time per job and cores / CPU time per job',
    remedy:
      'A larger UV_THREADPOOL_SIZE for jobs that wait; fewer or cheaper jobs, or more cores, for jobs that compute.',
    detected: 'by experiment',
    note: "Needs the probe; 'thread pool x4' needs a server that millrace started.",
  },
  'outbound-pool': {
    title: 'Too few connections to another service',
    what: 'Calls to a service or database share a bounded pool of connections and wait for a free one.',
    shows:
      'The loop is idle, and calls wait for a connection; or, for a client that the probe does not know, the number of connections to a peer stays the same while requests queue.',
    experiment:
      "'max sockets x2' doubles maxSockets of agents and the connections of undici pools: throughput rises, up to x 2. A 'second process' has a pool of its own.",
    formula: 'maximum = connections / response time of the service',
    remedy:
      'A larger pool: connections = requests per second needed x response time of the service.',
    detected: 'by experiment',
    note: 'Pools other than agents of node:http and undici (databases) are detected by the constant number of their connections, all of which wait for a response.',
  },
  'slow-dependency': {
    title: 'A slow service without a time limit',
    what: 'Most calls to a service are fast, a few take very long, and those few occupy most of the requests in flight.',
    shows:
      'The mean response time is far above the median, or the response times of the service have a heavy tail; most requests in flight wait for it. At a sustained rate, the waiting requests take much memory.',
    experiment:
      "'client timeout' makes the client give up after a time that usual responses stay below: more requests finish per second, as predicted from the distribution.",
    formula: 'throughput = requests in flight / mean of min(response time, time limit)',
    remedy: 'A time limit on the calls, and a response for requests whose call times out.',
    detected: 'by experiment',
    note: 'Needs the probe, which measures the response times of the service.',
  },
  'saturated-dependency': {
    title: 'Another service is the limit',
    what: 'A service that this one calls is at its own limit. Changes to this service do not help.',
    shows:
      'The loop is idle, most requests wait for the service, and it responds far slower than to a single call; or a program on the same machine that works for the requests has no CPU time left.',
    experiment:
      "'dependency, connections x2' measures that the response time of the service grows with the connections while throughput stays the same.",
    formula: 'maximum of the service = calls in flight / its response time',
    remedy: 'Scale that service, or call it less: cache, batch.',
    detected: 'by experiment',
    note: 'Needs the probe, except for a program on the same machine. For protocols other than HTTP it measures the time to the first bytes of a response.',
  },
  serialized: {
    title: 'Requests are serialized',
    what: 'Something admits requests one at a time, or a few at a time: a mutex, p-limit, a queue, a lock in a database, a worker thread that computes. A throttle, which delays requests to a rate, looks the same.',
    shows:
      "The loop is idle, the server's threads leave cores idle, throughput times the response time alone is about one (or one per thread other than the loop's that is always busy), and no pool or service explains the queue.",
    experiment:
      "None of its own: 'connections x2', 'thread pool x4' and 'max sockets x2' change nothing. With a 'second process' throughput doubles if the limit is inside the process, and stays the same if it is outside.",
    formula: 'requests admitted at a time = throughput x response time alone',
    remedy: 'Search the code for what admits one request at a time.',
    detected: 'by its signature',
    note: 'Found by elimination: explain measures how many requests are admitted at a time, not what admits them. A throttle admits the next request after a fixed time, so a single client waits for it too.',
  },
});

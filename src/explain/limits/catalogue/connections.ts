import { defineGroup } from './entry.js';

/** Limits of connections, TLS and TCP. */
export const CONNECTIONS = defineGroup('connections and TCP', {
  'head-of-line': {
    title: 'Head-of-line blocking',
    what: 'Pipelined requests share a connection, and each response waits for all before it.',
    shows: 'With pipelining a request takes much longer than alone, and the loop is not busy.',
    experiment:
      "'no pipelining' sends as many requests on separate connections: no response waits for another.",
    formula: 'gain = response time / response time alone',
    remedy: 'More connections without pipelining, or HTTP/2.',
    detected: 'by experiment',
  },
  'nagle-delayed-ack': {
    title: 'Delayed acknowledgements (the 40 ms timer of TCP)',
    what: "The server sends a response in two parts, or the service sends a call so. Nagle's algorithm holds back the second part until the first is acknowledged, and the receiver delays that.",
    shows:
      'The first and the last byte of a response are 40 ms apart (200 ms on some systems), and the CPU is idle; or calls over an outbound TCP connection take that time, with one request as with many.',
    experiment:
      "'early acknowledgement' sends an empty line as soon as a response begins, which servers skip before a request. It carries the acknowledgement, and the gap vanishes. 'outbound TCP_NODELAY' disables Nagle's algorithm on the connections that the service opened.",
    formula: 'throughput = requests in flight / (time of the work + 40 ms)',
    remedy:
      'setNoDelay(true), the default of node:http since version 18; or one write for head and body.',
    detected: 'by experiment',
    note: 'Since Node.js 18 it occurs only with noDelay: false, with servers of node:net, or in a proxy.',
  },
  'many-writes': {
    title: 'Many small writes',
    what: 'Each response takes several write system calls, and their cost adds up on a busy loop.',
    shows: 'The main thread writes clearly more than once per response, and the loop is busy.',
    experiment: "'writes corked' combines the parts of a response into one write.",
    formula: 'time saved per response = (writes - 1) x time of a write, 5 to 6 µs in Node.js',
    remedy: 'One write per response: end(body), cork(), or pipe larger chunks.',
    detected: 'by experiment',
    note: 'The experiment needs the probe.',
  },
  'connection-churn': {
    title: 'A connection for each request',
    what: 'Clients, or the service for its outbound calls, do not reuse connections. Opening, accepting and closing a connection costs more than a small request.',
    shows:
      'About as many connections are opened as requests are answered, or as outbound calls are made while the loop is busy.',
    experiment: "'keep-alive' keeps connections open: throughput rises.",
    formula: 'cost of a connection = 1 / throughput without keep-alive - 1 / throughput with it',
    remedy: 'Keep-alive on both sides: agents, proxies, keepAliveTimeout.',
    detected: 'by experiment',
    note: 'By its signature if the server closes the connections, as the client cannot keep them then, and for outbound calls: the profile measures the time that opening connections takes.',
  },
  'ephemeral-ports': {
    title: 'Local ports are exhausted',
    what: 'Each closed connection keeps its local port for a minute. A few hundred connections per second to one address take all ports.',
    shows:
      'Connection attempts fail with EADDRNOTAVAIL, and tens of thousands of sockets are in TIME_WAIT: on the client, or on the server for its outbound calls.',
    experiment:
      'None: keep-alive on that side would end the errors, and explain cannot change it there.',
    formula:
      'connections per second = local ports / 60 s; 28,232 ports, the default of Linux, give 470 to one address and port',
    remedy: 'Keep-alive: an agent that reuses its connections.',
    detected: 'by its signature',
    note: 'Ports are counted over all addresses: a server that calls several may have more connections than ports.',
  },
  'listen-backlog': {
    title: 'The accept queue is full',
    what: 'Connections that the server has not accepted yet wait in a queue. When it is full the system drops new ones, and clients retry after a second.',
    shows:
      "The system counts overflows of listening sockets or the server's queue is full, and connecting takes a second or more.",
    experiment: "'keep-alive' keeps connections open: no more have to be accepted.",
    formula: 'overflow if new connections per second x longest block of the loop > backlog',
    remedy:
      'A larger backlog and net.core.somaxconn, keep-alive, or an event loop that is not blocked.',
    detected: 'by experiment',
    note: 'By its signature if the client keeps its connections already.',
  },
  'accept-rate': {
    title: 'One new connection per turn of the loop',
    what: 'Node.js accepts one connection per turn of its event loop. When turns are long, new connections wait while existing ones are served.',
    shows:
      'Connections opened per second equal the turns of a busy loop per second, and some wait to be accepted.',
    experiment:
      "None that distinguishes it from connection-churn: 'keep-alive' helps with both. The number of turns does.",
    formula: 'new connections per second = turns of the loop per second',
    remedy: 'Keep-alive, shorter turns, or more processes.',
    detected: 'by its signature',
    note: 'Needs the probe, and Node.js 20.18 or later.',
  },
  'fd-limit': {
    title: 'The limit of open files is reached',
    what: 'Each connection is an open file, and a process has a limit of open files. Node.js drops further connections silently.',
    shows:
      "The server's open files are at its limit, or connections of the generator fail because of its own limit.",
    experiment: 'None of its own: explain does not change the limit of a running process.',
    formula: 'maximum connections = limit of open files - other open files',
    remedy: 'A higher limit: ulimit -n, LimitNOFILE of systemd.',
    detected: 'by its signature',
  },
  'tls-handshake': {
    title: 'TLS handshakes',
    what: 'A full handshake takes more CPU time than many requests: of clients with the server, or of the service with its dependencies.',
    shows:
      'A good part of the requests, or of the outbound https calls, have a handshake of their own.',
    experiment:
      "'TLS kept' keeps connections open, with their sessions: throughput rises by the cost of the handshakes, and not by that of the requests. Where the server closes connections, 'TLS resumed' resumes sessions: throughput rises by the signature of a full handshake.",
    formula:
      'CPU time per request = CPU time of the work + share of requests with a handshake x CPU time of a handshake',
    remedy:
      'Keep-alive, session resumption, or an ECDSA certificate instead of RSA; one agent for all calls.',
    detected: 'by experiment',
    note: 'By its signature for outbound calls: the profile measures the time that opening connections takes.',
  },
  'slow-reader': {
    title: 'A client that reads slowly',
    what: 'The client reads slower than the server writes, and responses wait in the sockets.',
    shows: "The server's sockets contain unacknowledged bytes, and the window is closed.",
    experiment: 'None yet. A client that reads faster would raise throughput.',
    formula: 'bytes per second of a connection = window / round trip',
    remedy: 'A faster client, a larger window, or fewer bytes.',
    detected: 'not detected yet',
    note: 'The generator reads at once, or generator-saturated is the limit; a load cannot have slow clients yet.',
  },
  'keep-alive-race': {
    title: 'The keep-alive race',
    what: 'The server closes idle connections after keepAliveTimeout (5 s by default), just as a client sends its next request.',
    shows: 'Resets on connections that were idle for about that time, at low rates only.',
    experiment:
      "'half the think time': with half of the pause between two requests hardly any request fails.",
    formula: 'resets appear if the pause reaches keepAliveTimeout',
    remedy: 'An idle timeout of the client below that of the server.',
    detected: 'by experiment',
    note: 'It needs a load with pauses (--think-time), or a low rate.',
  },
});

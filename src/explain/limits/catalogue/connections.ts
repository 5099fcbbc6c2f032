import { defineGroup } from './entry.js';

/** Connections, TLS and TCP are the limit. */
export const CONNECTIONS = defineGroup('connections and TCP', {
  'head-of-line': {
    title: 'Waiting behind a slow response',
    what: 'Pipelined requests share a connection, and each answer waits for all before it.',
    shows: 'With pipelining a request takes much longer than alone, and the loop is not busy.',
    experiment:
      "'depth 1' has as many in flight on connections of their own: each takes its own time.",
    formula: 'gain = response time / response time alone',
    remedy: 'More connections with one request each, or HTTP/2.',
    detected: 'by experiment',
  },
  'nagle-delayed-ack': {
    title: "TCP's 40 ms timer",
    what: "The server sends a response in two parts, or asks another service so. Nagle's algorithm holds the second back until the first is acknowledged, and the other side delays that.",
    shows:
      'Between the first and the last byte of a response lie 40 ms (200 ms on some systems), and the CPU is idle; or answers over a TCP connection of the service take that time, with one request as with many.',
    experiment:
      "'early acknowledgement' sends an empty line as soon as a response has begun, which servers skip before a request. The acknowledgement goes with it, and the gap vanishes. 'questions at once' turns Nagle's algorithm off on the connections that the service has opened.",
    formula: 'throughput = requests in flight / (time of the work + 40 ms)',
    remedy:
      'setNoDelay(true), the default of node:http since version 18; or one write for head and body.',
    detected: 'by experiment',
    note: "In Node.js 18 and later it takes a server with noDelay: false, one of node:net, or a proxy's.",
  },
  'many-writes': {
    title: 'Many small writes',
    what: 'Each response is written by several system calls, and their cost adds up on a busy loop.',
    shows: 'The main thread writes clearly more than once per response, and the loop is busy.',
    experiment: "'writes corked' collects the parts of a response and writes them at once.",
    formula: 'time saved per response = (writes - 1) x time of a write, 5 to 6 µs in Node.js',
    remedy: 'One write per response: end(body), cork(), or pipe larger chunks.',
    detected: 'by experiment',
    note: 'The experiment needs the probe inside the server.',
  },
  'connection-churn': {
    title: 'A connection for each request',
    what: 'Connections are not used again, by the clients or by the service for its calls. To open, accept and close one costs more than a small request.',
    shows:
      'About as many connections are opened as requests are answered, or as calls are made while the loop is busy.',
    experiment: "'keep-alive' keeps the connections: throughput rises.",
    formula: 'cost of a connection = 1 / throughput without keep-alive - 1 / throughput with it',
    remedy: 'Keep-alive on both sides: agents, proxies, keepAliveTimeout.',
    detected: 'by experiment',
    note: 'By its signature where the server ends the connections, as the client cannot keep them then, and where the service opens them for its calls: the profile tells how much of the time that takes.',
  },
  'ephemeral-ports': {
    title: 'No local ports are left',
    what: 'Each closed connection keeps its local port for a minute. At a few hundred a second to one address all ports are taken.',
    shows:
      'Connects fail with EADDRNOTAVAIL, and tens of thousands of sockets are in TIME_WAIT: on the client, or where the server calls others.',
    experiment:
      'None: keep-alive on that side would end the errors, and the other side cannot be told to keep them.',
    formula:
      'connections per second = local ports / 60 s; 28,232 ports, the default of Linux, give 470 to one address and port',
    remedy: 'Keep-alive: an agent that uses its connections again.',
    detected: 'by its signature',
    note: 'Ports are counted over all addresses: a server that calls several may have more connections than ports.',
  },
  'listen-backlog': {
    title: 'The queue of new connections is full',
    what: 'Connections that the server has not accepted yet wait in a queue. When it is full the system drops new ones, and they try again after a second.',
    shows:
      "The system counts overflows of listening sockets or the server's queue is full, and connects take a second or more.",
    experiment: "'keep-alive' keeps the connections: nothing has to be accepted any more.",
    formula: 'overflow where new connections per second x longest pause of the loop > backlog',
    remedy: 'A larger backlog and net.core.somaxconn, keep-alive, or a loop that is not blocked.',
    detected: 'by experiment',
    note: 'By its signature where the client keeps its connections already.',
  },
  'accept-rate': {
    title: 'One new connection per turn of the loop',
    what: 'Node.js accepts one connection per turn of its loop. When the turns are long, new connections wait while old ones are served well.',
    shows:
      'Connections opened per second equal the turns of a busy loop per second, and some wait to be accepted.',
    experiment:
      "None that tells it from connection-churn: 'keep-alive' helps with both. The number of turns does.",
    formula: 'new connections per second = turns of the loop per second',
    remedy: 'Keep-alive, shorter turns, or more processes.',
    detected: 'by its signature',
    note: 'Needs the probe inside the server, and Node.js 20.18 or later.',
  },
  'fd-limit': {
    title: 'No more open files',
    what: 'Each connection is an open file, and the process may have only so many. Node.js drops further ones without a word.',
    shows:
      "The server's open files are as many as it may have, or connects of the generator fail for its own limit.",
    experiment: 'None of its own: the limit of a running process is not changed.',
    formula: 'most connections = limit of open files - those of its own',
    remedy: 'A higher limit: ulimit -n, LimitNOFILE of systemd.',
    detected: 'by its signature',
  },
  'tls-handshake': {
    title: 'TLS handshakes',
    what: 'A full handshake costs more CPU than many requests: of the clients with the server, or of the service with what it calls.',
    shows: 'A good part of the requests, or of the calls by https, have a handshake of their own.',
    experiment: "'tls kept' keeps the connections, and with them the sessions: throughput rises.",
    formula:
      'CPU time per request = that of the work + share with a handshake x that of a handshake',
    remedy:
      'Keep-alive, session resumption, or an ECDSA certificate instead of RSA; one agent for all calls.',
    detected: 'by experiment',
    note: 'By its signature where the service opens the connections: the profile tells how much of the time that takes.',
  },
  'slow-reader': {
    title: 'A client that reads slowly',
    what: 'The client takes the bytes slower than the server makes them, and responses wait in the sockets.',
    shows: "The server's sockets hold bytes that were not acknowledged, and the window is closed.",
    experiment: 'None yet. A client that reads faster would give more.',
    formula: 'bytes per second of a connection = window / round trip',
    remedy: 'A faster client, a larger window, or fewer bytes.',
    detected: 'not told apart yet',
    note: 'The generator reads as fast as it can, and where it cannot that is generator-saturated; slow clients are not part of a load yet.',
  },
  'keep-alive-race': {
    title: 'Connections closed just when they are used',
    what: 'The server ends idle connections after keepAliveTimeout (5 s by default) at the moment when a client sends its next request.',
    shows: 'Resets on connections that were idle for about that time, at low rates only.',
    experiment: "'shorter pause': with half of the pause between two requests nearly none fails.",
    formula: 'resets appear where the pause reaches keepAliveTimeout',
    remedy: "A timeout of the client that is below the server's.",
    detected: 'by experiment',
    note: 'It takes a load with pauses (--think-time), or a low rate.',
  },
});

import type { StudyName, StudySummary } from './result.js';

/** Each study with its question, its original measurement and its approximate duration. */
export const STUDY_DESCRIPTIONS: Record<StudyName, StudySummary> = {
  connections: {
    name: 'connections',
    title: 'Connections',
    original:
      '2016, Node 4.2, a laptop with two cores; load at a constant rate of 50,000/s for 15 s, on kept connections',
    question:
      'Why does this service do only X requests a second, although CPU, memory and network are idle?',
    seconds: { quick: 47, full: 200 },
  },
  pipelining: {
    name: 'pipelining',
    title: 'Pipelining without a bound',
    original:
      '2016, Node 4.2, a client that writes 500,000 requests on one connection without waiting; the figures for 50 ms are from Node 20',
    question:
      'What does one client do to a server that handles every pipelined request as soon as it is read?',
    seconds: { quick: 50, full: 420 },
  },
  engines: {
    name: 'engines',
    title: 'A load tester on raw sockets',
    original:
      '2023, Node 18 on a six-core desktop: the loadtest package, with http and with bare sockets, and its peers',
    question: 'How much of a load test is the load tester?',
    seconds: { quick: 52, full: 210 },
  },
  timeouts: {
    name: 'timeouts',
    title: 'The case for timeouts',
    original:
      '2017, Node 7.1, a front service that calls a back service with a client library, three minutes each',
    question: 'What does a service lose that waits for another one without a time limit?',
    seconds: { quick: 50, full: 270 },
  },
  stacks: {
    name: 'stacks',
    title: 'A native HTTP stack',
    original:
      '2012, Node 0.8 on Windows with its own kernel HTTP server, 4 cores, 500 clients, 10 s of warm-up and 30 s',
    question: 'How much faster is a Node application whose HTTP is not JavaScript?',
    seconds: { quick: 58, full: 260 },
  },
  'pipe-vs-buffer': {
    name: 'pipe-vs-buffer',
    title: 'Pipe against buffer',
    original: '2017, Node 6 and 8, a POST of 10 bytes on 100 connections to four echo servers',
    question: 'Why is req.pipe(res) ten times slower than collecting the body first?',
    seconds: { quick: 55, full: 190 },
  },
};

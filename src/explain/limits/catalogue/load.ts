import { defineGroup } from './entry.js';

/** Limits of the load, which are not the server's fault. */
export const LOAD = defineGroup('load', {
  'too-few-connections': {
    title: 'Too few connections',
    what: 'Each request waits for something that does not queue (a timer, another service, network latency), and the number of connections bounds how many can wait at once. The server could serve more.',
    shows:
      'The event loop is far from busy, and a request takes hardly longer under load than alone. Requests in flight divided by the response time equal the measured throughput.',
    experiment:
      "'connections x2' yields twice the throughput at the same response time, as far as the event loop allows; 'connections /2' yields half. With a busy loop throughput would stay the same and the response time double. 'calls delayed' starts calls to other services later: throughput falls as the response time grows.",
    formula:
      'throughput = requests in flight / response time; useful connections = response time alone / CPU time per request',
    remedy:
      'More connections, up to the number at which the event loop is the limit; more than that only adds latency.',
    detected: 'by experiment',
    note: 'A load with a rate (open model) does not wait for responses and cannot have this limit.',
  },
  'generator-saturated': {
    title: 'The load generator is saturated',
    what: 'The load generator has no CPU time left: it measures itself, not the server.',
    shows:
      "The generator's busiest thread is busy nearly all of the time, with a core of its own, and the server's loop is not. The generator's sockets contain bytes that it has not read yet, those of the server contain none.",
    experiment:
      "'generator threads x2' spreads the same connections over twice the threads: throughput rises, up to x 2. 'connections x2' yields nothing. An 'path not found', whose response costs the server little, yields nothing either.",
    formula: 'maximum of the generator = its threads / its CPU time per request',
    remedy: 'More threads for the generator (-t), on cores that the server does not use.',
    detected: 'by experiment',
  },
  errors: {
    title: 'Errors instead of responses',
    what: 'Requests fail or are refused. A fast refusal counts as a response and makes throughput look better than it is.',
    shows:
      'Responses with status 4xx or 5xx, resets or timeouts are more than 1 % of the requests. If most are 429, a rate limiter is the cause.',
    experiment:
      "None of its own: 'connections x2' runs for other limits, and changes nothing behind a rate limiter.",
    formula: 'goodput = responses with a status below 400 / time',
    remedy: 'Fix the errors first, or raise the rate limit, and measure again.',
    detected: 'by its signature',
  },
});

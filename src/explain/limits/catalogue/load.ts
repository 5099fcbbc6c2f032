import { defineGroup } from './entry.js';

/** The load is the limit, and the server is not at fault. */
export const LOAD = defineGroup('load', {
  'too-few-connections': {
    title: 'Too few connections',
    what: 'Each request waits for something that does not queue (a timer, a service elsewhere, a distance), and only so many can wait at once. The server could do more.',
    shows:
      'The event loop is far from busy, and a request takes hardly longer among the others than alone. Requests in flight divided by the response time give the throughput that was measured.',
    experiment:
      "'connections x2' gives twice the throughput at the same response time, as far as the event loop allows; 'connections /2' gives half. A busy loop would give x 1 and twice the response time. 'calls delayed' lets calls to other services begin later: throughput falls as the response time grows.",
    formula:
      'throughput = requests in flight / response time; connections worth having = response time alone / CPU time per request',
    remedy:
      'More connections, up to the number where the event loop is the limit; beyond it requests only wait longer.',
    detected: 'by experiment',
    note: 'A load that is a rate (open model) does not wait for responses, and cannot have this limit.',
  },
  'generator-saturated': {
    title: 'The load generator is saturated',
    what: 'The tool that makes the load has no time left. What is measured is the tool, not the server.',
    shows:
      "The generator's busiest thread is busy nearly all of the time, with a core of its own, and the server's loop is not. Its sockets hold bytes that it has not read yet, those of the server hold none.",
    experiment:
      "'two generators' spreads the same connections over twice the threads: throughput rises, up to x 2. 'connections x2' gives nothing. For an 'unknown path', whose answer costs the server little, it is as slow.",
    formula: 'most of the generator = its threads / its CPU time per request',
    remedy: 'More threads for the generator (-t), on cores that the server does not use.',
    detected: 'by experiment',
  },
  errors: {
    title: 'Errors instead of answers',
    what: 'Requests fail or are refused. A fast refusal counts as a response and makes throughput look better than it is.',
    shows:
      'Responses with status 4xx or 5xx, resets or timeouts are more than 1 % of the requests. Mostly 429: a rate limiter.',
    experiment:
      "None of its own: 'connections x2' is made where others ask for it, and changes nothing behind a limiter.",
    formula: 'goodput = responses with a status below 400 / time',
    remedy: 'Mend what fails first, or raise the limiter, and measure again.',
    detected: 'by its signature',
  },
});

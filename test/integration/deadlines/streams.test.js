// Bodies that are meant to last are distinguished from calls that hang: events, watches, records, lines.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000 };
/** The peer is this process, which a busy machine may delay. */
const env = { MILLRACE_DEADLINE_TOTAL: '1s' };
const ways = ['fetch', 'http', 'undici 5', 'undici 6', 'undici 7'];

/** Cases: a type, the requested path, the chunks in turn, one each `ms` until `count`, and whether it ends then. */
const line = '{"type":"ADDED","object":{}}\n';
const coming = { pieces: [line], ms: 200, count: 8 };
/** Idle for longer than a limit. */
const seldom = { pieces: ['data'], ms: 1700, count: 2 };
const stopping = { ms: 50, ends: false };

const lasting = {
  'lines that keep coming': { type: 'application/json', ...coming },
  'of no type': coming,
  'long lines, which come in parts': { pieces: ['{"a":', '"b"', '}\n'], ms: 80, count: 20 },
  events: { type: 'text/event-stream', ...seldom },
  'events, with capitals and a parameter': {
    type: 'Text/Event-Stream; Charset="utf-8"',
    ...seldom,
  },
  'events, with a blank': { type: 'text/event-stream ;charset=utf-8', ...seldom },
  'pictures of a camera': { type: 'Multipart/X-Mixed-Replace; boundary=frame', ...seldom },
  'a watch of Kubernetes': { type: 'application/json', path: 'pods?a=b&watch=true', ...seldom },
  'another one': { type: 'application/json', path: 'pods?watch=1&resourceVersion=7', ...seldom },
  'not of JSON': { type: 'application/vnd.kubernetes.protobuf;stream=watch', ...seldom },
  'a log that is followed': { type: 'text/plain', path: 'log?follow=true', ...seldom },
  'records in lines': { type: 'application/x-ndjson', pieces: ['{}'], ms: 300, count: 5 },
  'records of AWS': {
    type: 'application/vnd.amazon.eventstream',
    pieces: ['r'],
    ms: 300,
    count: 5,
  },
};

const hanging = {
  'no lines': { type: 'application/json', pieces: ['{"a":1},'], ms: 100, limit: 'total' },
  'ends of lines alone': { pieces: ['\n'], ms: 100, limit: 'total' },
  'a text with a line end now and then': { pieces: [...'abcdefg', 'h\n'], ms: 50, limit: 'total' },
  'one line': { type: 'application/json', pieces: [line], count: 1, ...stopping, limit: 'total' },
  'lines that stop': { pieces: [line], count: 8, ms: 100, ends: false, limit: 'idle' },
  'records that stop': {
    ...{ type: 'application/x-ndjson', pieces: [line], count: 1, ...stopping },
    limit: 'idle',
  },
  'what asks for no watch': { path: 'pods?watch=false&rewatch=true', ...seldom, limit: 'total' },
  'a type that only begins like it': { type: 'text/event-streams', ...seldom, limit: 'total' },
  'lines of a length that is known': {
    ...coming,
    path: 'pods?watch=true',
    length: 9999,
    limit: 'total',
  },
};

describe('bodies', { concurrency: 2 }, () => {
  for (const [kind, cases] of Object.entries({ lasting, hanging })) {
    test(`${kind} bodies are recognized in each library`, limits, async (t) => {
      const { call, stats } = service(t, env);
      const peer = await web(t, (request, response) => {
        const { type, pieces, ms, count = 1000, ends = true, length } = cases[nameOf(request)];
        if (type) response.setHeader('Content-Type', type);
        if (length) response.setHeader('Content-Length', length);
        response.flushHeaders();
        let written = 0;
        const timer = setInterval(() => {
          if (written < count) response.write(pieces[written++ % pieces.length]);
          else if (ends) response.end();
        }, ms);
        response.on('close', () => clearInterval(timer));
      });
      const asks = Object.entries(cases).flatMap(([name, { path = '' }]) => {
        const url = `http://127.0.0.1:${peer.port}/${encodeURIComponent(name)}/${path}`;
        return ways.map((way) => ({ way, name, url }));
      });
      const { value, error } = await call('bodies', { asks });
      assert.equal(error, undefined);
      for (const [index, { way, name }] of asks.entries()) {
        const { pieces, count, limit } = cases[name];
        const whole = Array.from({ length: count }, (_, at) => pieces[at % pieces.length]).join('');
        assert.equal(value[index], limit ?? whole, `${name}, by ${way}`);
      }
      const { inFlight, hits } = await stats();
      assert.equal(inFlight, 0);
      if (kind === 'lasting') assert.deepEqual(Object.values(hits), [0, 0, 0, 0, 0]);
    });
  }
});

function nameOf(request) {
  return decodeURIComponent(request.url.split('/')[1]);
}

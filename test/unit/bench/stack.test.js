import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listUrls } from '../../../bench/clients/tools.js';
import { Answers } from '../../../bench/stack/answers.js';
import { sumServed } from '../../../bench/stack/app.js';

const answer = (body, status = '200 OK') =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\nDate: today\r\n\r\n${body}`;
const answersTo = (...chunks) => {
  const answers = new Answers();
  for (const chunk of chunks) answers.push(Buffer.from(chunk));
  return answers;
};

test('responses in order are counted wherever they are split', () => {
  const text = ['/0', '/1', '/2'].map((body) => answer(body)).join('');
  for (let at = 0; at <= text.length; at++) {
    const { count, fault } = answersTo(text.slice(0, at), text.slice(at));
    assert.deepEqual({ count, fault }, { count: 3, fault: null }, `split at ${at}`);
  }
});

test('a response out of order or with another status ends the count', () => {
  const swapped = answersTo(answer('/0') + answer('/2') + answer('/1'), answer('/3'));
  assert.equal(swapped.count, 1);
  assert.equal(swapped.fault, 'instead of the answer to /1: that to /2');
  const refused = answersTo(answer('/0') + answer('', '503 Service Unavailable'));
  assert.equal(refused.fault, 'instead of answer 1: HTTP/1.1 503 Service Unavailable');
});

test('the counts of the processes of a server are added up', () => {
  const one = { requests: { native: 98, fallback: 2 }, fallbackReasons: { upgrade: 2 } };
  const two = { requests: { native: 50, fallback: 1 }, fallbackReasons: { upgrade: 1 } };
  const sum = { native: 148, fallback: 3, fallbackReasons: { upgrade: 3 } };
  assert.deepEqual(sumServed(`${JSON.stringify(one)}\n${JSON.stringify(two)}\n`), sum);
});

test('connections keep to a path of their host, or take the paths of their own host in turn', () => {
  const server = { url: 'http://127.0.0.1:80/', port: 80 };
  const load = { ...server, paths: ['/foo/', '/bar/'], connections: 3 };
  assert.deepEqual(listUrls({ ...server, connections: 3 }), ['http://127.0.0.1:80/']);
  assert.deepEqual(listUrls(load), ['http://127.0.0.1:80/foo/', 'http://127.0.0.2:80/bar/']);
  const inTurn = [1, 2, 3].flatMap((host) => [
    `http://127.0.0.${host}:80/foo/`,
    `http://127.0.0.${host}:80/bar/`,
  ]);
  assert.deepEqual(listUrls({ ...load, alternating: true }), inTurn);
});

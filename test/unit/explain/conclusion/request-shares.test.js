// What the requests with each name take, of the response times and of the loop's time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deriveRequestShares,
  describeHeaviestRequest,
} from '#internal/explain/conclusion/request-shares.js';

const target = (name, url, method = 'GET') => ({ name, method, url, weight: null, bodyBytes: 0 });
const named = (name, sent, timeShare) => ({
  ...{ name, requests: { sent }, timeShare, serviceTimeMs: { p50: 1, p99: 2 } },
});

const targets = [
  target('list', 'http://127.0.0.1:1/users?page={{seq}}'),
  target('one', 'http://127.0.0.1:1/users/{{random:1-9}}'),
  target('slow', 'unix:/run/x.sock:/report'),
];
const byName = [named('list', 60, 0.5), named('one', 30, 0.3), named('slow', 10, 0.2)];
const load = { plan: { targets }, byName, requests: { sent: 100 } };
const routes = [
  { route: 'GET /users', syncShare: 0.08 },
  { route: 'GET /users/:id', syncShare: 0.02 },
  { route: 'GET /report', syncShare: 0.7 },
  { route: 'GET /health', syncShare: 0.1 },
];

const shares = (base) =>
  deriveRequestShares({ base }).map(({ name, requestShare, timeShare, loopShare }) => [
    ...[name, requestShare, timeShare],
    loopShare === null ? null : Number(loopShare.toFixed(3)),
  ]);

test('the name that takes most of the loop is first, whatever it takes of the response times', () => {
  assert.deepEqual(shares({ load, inside: { routes } }), [
    ['slow', 0.1, 0.2, 0.875],
    ['list', 0.6, 0.5, 0.1],
    ['one', 0.3, 0.3, 0.025],
  ]);
});

test('without the probe the response times tell', () => {
  assert.deepEqual(shares({ load, inside: null }), [
    ['list', 0.6, 0.5, null],
    ['one', 0.3, 0.3, null],
    ['slow', 0.1, 0.2, null],
  ]);
});

test("the time of a route that has several names is none's", () => {
  const twice = [...targets, target('slow again', 'http://127.0.0.1:1/report')];
  const [first] = shares({ load: { ...load, plan: { targets: twice } }, inside: { routes } });
  assert.deepEqual(first, ['list', 0.6, 0.5, 0.8]);
});

test('a load of one name has none', () => {
  assert.deepEqual(shares({ load: { ...load, byName: byName.slice(0, 1) }, inside: null }), []);
});

test('the name that takes most of the time is described, unless it has that part of the requests', () => {
  const all = deriveRequestShares({ base: { load, inside: { routes } } });
  assert.equal(
    describeHeaviestRequest(all, true),
    "most of it is slow: 88 % of the handlers' time on the loop, 10 % of the requests",
  );
  // The loop is idle: 50 % of the response times for 60 % of the requests.
  assert.equal(describeHeaviestRequest(all, false), null);
  const waiting = all.map((one) => ({ ...one, timeShare: one.name === 'one' ? 0.9 : 0.05 }));
  assert.match(describeHeaviestRequest(waiting, false), /^most of it is one: 90 % of the response/);
  assert.equal(describeHeaviestRequest([], true), null);
});

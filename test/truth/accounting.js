import assert from 'node:assert/strict';
import { isResult } from '../schemas.js';

/** Whether a result is what the schema says, and everything in it adds up. Holds for any run. */
export function assertAddsUp(result) {
  assert.ok(isResult(result), JSON.stringify(isResult.errors, null, 2));
  const { requests, errors, statusCodes, connections, series, generator } = result;
  const { ok, statusErrors, transportErrors, timeouts, inFlightAtEnd, notSent } = requests;
  assert.equal(requests.sent, ok + statusErrors + transportErrors + timeouts + inFlightAtEnd);

  const responses = ok + statusErrors;
  assert.equal(sum(Object.values(statusCodes)), responses, 'each response has a status');
  const arrived = responses + result.warmup.completedLater;
  assert.equal(sum(series.map(({ completed }) => completed)), arrived, 'each is in the series');
  assert.equal(
    sum(series.map((window) => window.errors)),
    statusErrors + transportErrors + timeouts,
    'each failure is in the series',
  );
  assert.equal(
    sum(errors.map(({ count }) => count)),
    transportErrors + timeouts + connections.failed + connections.broken,
    'each failure has a kind',
  );
  const censored = transportErrors + timeouts + inFlightAtEnd;
  assert.equal(result.serviceTimeMs.count, requests.sent);
  assert.equal(result.serviceTimeMs.censored, censored);
  assert.equal(result.latencyMs.count, requests.sent + notSent.queuedAtEnd);
  assert.equal(result.latencyMs.censored, censored + notSent.queuedAtEnd);
  assert.equal(sum(generator.workers.map((worker) => worker.requests)), requests.sent);
  assert.equal(result.connectMs.count, connections.opened);
}

/**
 * Whether the server saw exactly what the result says: every request once, connection by connection, each byte.
 * `server` is a truth server or what its process told, settled. A request that was given up may have been lost with its
 * connection before the server read it; any other has arrived.
 */
export function assertSeenByServer(result, server) {
  assertAddsUp(result);
  const { plan, requests, warmup, connections } = result;
  const { transportErrors, timeouts, inFlightAtEnd } = requests;
  const givenUp = transportErrors + timeouts + inFlightAtEnd;
  const perConnection = server.connections.map((it) => it.requests.length ?? it.requests);
  const arrived = server.requests.length - warmup.requests;
  assert.equal(sum(perConnection), server.requests.length);
  assertWithin(arrived, requests.sent - givenUp, requests.sent, 'arrived = sent');
  if (warmup.requests > 0) return;

  const carrying = perConnection.filter((count) => count > 0).length;
  const repeated = arrived - carrying;
  assertWithin(connections.reused, repeated, repeated + givenUp, 'reused connections');
  if (givenUp > 0) return;
  // Those that were still being opened at the end count for the server only.
  const opening = connections.opened === plan.connections ? 0 : plan.connections;
  const accepted = server.connections.length;
  assertWithin(accepted, connections.opened, connections.opened + opening, 'connections');
  assert.equal(result.bytes.sent, sum(server.connections.map((it) => it.received)), 'bytes sent');
}

function assertWithin(value, least, most, what) {
  assert.ok(value >= least && value <= most, `${what}: ${value}, not ${least} to ${most}`);
}

/** Whether the client received each byte that the server sent. Holds if no answer was cut off by the end of the run. */
export function assertAllReceived(result, server) {
  assert.equal(result.bytes.received, sum(server.connections.map(({ sent }) => sent)));
}

/** The sum of some numbers. */
export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

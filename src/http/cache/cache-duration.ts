import { describeValue } from '../../validation/shape.js';
import { addProperty, warnOfValue } from '../node/added-properties.js';
import { nodeHttp } from '../node/node-http.js';
import { native } from '../reactor/native.js';
import type { Connection } from '../state/connection.js';

const kDuration = Symbol('millrace.cacheDuration');
const kFillRequest = Symbol('millrace.fillRequest');

/** Which request on which connection a response answers that the cache waits for. */
interface FillRequest {
  connection: Connection;
  request: number;
}

interface TimedResponse {
  [kDuration]?: number;
  [kFillRequest]?: FillRequest;
}

/** Marks a response that the cache stores, if it may: its `cacheDuration` is passed on. */
export function setFillRequest(response: object, connection: Connection, request: number): void {
  (response as TimedResponse)[kFillRequest] = { connection, request };
}

/**
 * Puts `cacheDuration` into `http.ServerResponse.prototype`: seconds for which the output cache keeps the response,
 * whatever its fields say about being fresh; 0: it is not stored. Has an effect until the head has been sent, and
 * where there is a cache.
 */
export function installCacheDuration(): void {
  addProperty<TimedResponse>(
    nodeHttp.ServerResponse.prototype,
    'cacheDuration',
    (response) => response[kDuration],
    setDuration,
  );
}

/** Returns whether the value is the stack's; otherwise it is the application's own. */
function setDuration(response: TimedResponse, seconds: unknown): boolean {
  if (seconds === undefined) {
    delete response[kDuration];
    return true;
  }
  if (typeof seconds !== 'number') return false;
  if (!(seconds >= 0)) {
    const must = 'res.cacheDuration must be a number of seconds, 0 or more';
    warnOfValue('cacheDuration', `${must} (got ${describeValue(seconds)}); the value is ignored`);
    return true;
  }
  response[kDuration] = seconds;
  const fill = response[kFillRequest];
  if (fill && fill.connection.id >= 0) {
    native.stackCacheFor(fill.connection.id, fill.request, seconds * 1000);
  }
  return true;
}

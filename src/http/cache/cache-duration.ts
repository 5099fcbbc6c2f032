import { usageError } from '../../errors.js';
import { describeValue } from '../../validation/shape.js';
import type { ServerSocket } from '../connection/socket.js';
import { nodeHttp } from '../install/node-http.js';
import { native } from '../reactor/native.js';

const kDuration = Symbol('millrace.cacheDuration');
const kFillRequest = Symbol('millrace.fillRequest');

/** Which request on which connection a response answers that the cache waits for. */
interface FillRequest {
  socket: ServerSocket;
  request: number;
}

interface TimedResponse {
  [kDuration]?: number;
  [kFillRequest]?: FillRequest;
}

/** Marks a response that the cache stores, if it may: its `cacheDuration` is passed on. */
export function setFillRequest(response: object, socket: ServerSocket, request: number): void {
  (response as TimedResponse)[kFillRequest] = { socket, request };
}

/**
 * Puts `cacheDuration` into `http.ServerResponse.prototype`: seconds for which the output cache keeps the response,
 * whatever its fields say about being fresh; 0: it is not stored. Has an effect until the head has been sent, and
 * where there is a cache.
 */
export function installCacheDuration(): void {
  Object.defineProperty(nodeHttp.ServerResponse.prototype, 'cacheDuration', {
    configurable: true,
    enumerable: false,
    get(this: TimedResponse): number | undefined {
      return this[kDuration];
    },
    set(this: TimedResponse, seconds: number | undefined) {
      if (seconds !== undefined && !(typeof seconds === 'number' && seconds >= 0)) {
        throw usageError(
          `res.cacheDuration must be a number of seconds, 0 or more (got ${describeValue(seconds)})`,
        );
      }
      if (seconds === undefined) delete this[kDuration];
      else this[kDuration] = seconds;
      const fill = this[kFillRequest];
      if (fill && seconds !== undefined && fill.socket.nativeId >= 0) {
        native.stackCacheFor(fill.socket.nativeId, fill.request, seconds * 1000);
      }
    },
  });
}

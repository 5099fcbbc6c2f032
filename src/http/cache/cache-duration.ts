import { usageError } from '../../errors.js';
import { describeValue } from '../../validation/shape.js';
import type { ServerSocket } from '../connection/socket.js';
import { nodeHttp } from '../install/node-http.js';
import { native } from '../reactor/native.js';

const kDuration = Symbol('millrace.cacheDuration');
const kLead = Symbol('millrace.lead');

/** Which request on which connection a response answers that the cache waits for. */
interface Lead {
  socket: ServerSocket;
  request: number;
}

interface Timed {
  [kDuration]?: number;
  [kLead]?: Lead;
}

/** The cache stores this response, if it may: `cacheDuration` is told to it. */
export function setFillRequest(response: object, socket: ServerSocket, request: number): void {
  (response as Timed)[kLead] = { socket, request };
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
    get(this: Timed): number | undefined {
      return this[kDuration];
    },
    set(this: Timed, seconds: number | undefined) {
      if (seconds !== undefined && !(typeof seconds === 'number' && seconds >= 0)) {
        throw usageError(
          `res.cacheDuration must be a number of seconds, 0 or more (got ${describeValue(seconds)})`,
        );
      }
      if (seconds === undefined) delete this[kDuration];
      else this[kDuration] = seconds;
      const lead = this[kLead];
      if (lead && seconds !== undefined && lead.socket.nativeId >= 0) {
        native.stackCacheFor(lead.socket.nativeId, lead.request, seconds * 1000);
      }
    },
  });
}

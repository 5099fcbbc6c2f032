import { Readable } from 'node:stream';
import { patchMethod } from '../patch-method.js';

/** Errors that end the body of a response. */
const bodyErrors = new WeakSet<Error>();
let isPatched = false;

/**
 * Makes the error harmless for a body that nobody reads yet. It has no listener for errors, and undici 5 and 6 would
 * end the process. Who reads it later receives the error. The body cannot be found in advance: handlers for redirects,
 * retries and interceptors hide it.
 */
export function allowUnreadBody(error: Error): void {
  bodyErrors.add(error);
  if (isPatched) return;
  isPatched = true;
  patchMethod(Readable.prototype, 'destroy', (original) => {
    return function destroy(this: Readable, ...args: Parameters<typeof original>) {
      const [reason] = args;
      if (reason && bodyErrors.has(reason) && this.listenerCount('error') === 0) {
        this.on('error', ignore);
      }
      return Reflect.apply(original, this, args);
    };
  });
}

function ignore(): void {}

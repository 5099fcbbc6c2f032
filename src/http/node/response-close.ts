import type { Outgoing } from './node-internals.js';

/** Emits 'close' of a response once, whatever ended it. */
export function emitClose(response: Outgoing): void {
  if (response._closed) return;
  response.destroyed = true;
  response._closed = true;
  response.emit('close');
}

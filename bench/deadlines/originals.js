// Functions of Node.js, taken before deadlines patch them.
import http from 'node:http';

export const { get } = http;
export const { setTimeout } = globalThis;
/** The getter of `signal`; called by `readSignal.call(controller)`. */
export const { get: readSignal } = Object.getOwnPropertyDescriptor(
  AbortController.prototype,
  'signal',
);

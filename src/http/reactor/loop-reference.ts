import { native } from './native.js';

let count = 0;

/** Listeners and connections that keep the process alive. */
export function reference(delta: 1 | -1): void {
  const before = count;
  count += delta;
  if (before === 0 || count === 0) native.stackReference(count);
}

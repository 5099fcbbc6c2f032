import net from 'node:net';
import { native } from '../reactor/native.js';
import type { KeepAliveOptions } from '../state/connection.js';

export const TAKES_OPTIONS = net.Socket.prototype.setKeepAlive.length > 2;

/** As Node: whole seconds, and what is none of them is zero. libuv has the other defaults. */
export function setKeepAlive(id: number, options: KeepAliveOptions): void {
  const { enable, initialDelay, interval, count } = options;
  const after = seconds(initialDelay);
  const apart = TAKES_OPTIONS && interval !== undefined ? seconds(interval) : 1;
  const probes = TAKES_OPTIONS && count !== undefined ? ~~count : 10;
  native.stackSetKeepAlive(id, Boolean(enable), after * 1000, apart * 1000, probes);
}

/** Whole seconds, as Node counts them. */
export function seconds(ms: number | undefined): number {
  return ~~((ms as number) / 1000);
}

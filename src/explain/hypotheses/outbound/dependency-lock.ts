import { rate, share } from '../../../format/units.js';
import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { findCalledProgram } from './saturated-program.js';

/** A dependency at which calls wait for what other requests hold, such as a locked row. */
export interface LockingDependency {
  call: OutboundView;
  /** Calls that it would serve at a time if each took as long as a single one. */
  ownCalls: number;
  /** Whether it was seen to use little CPU time: a dependency on another machine is not seen. */
  isIdle: boolean;
}

/**
 * Maximum of the calls that a dependency serves at a time if it is idle in between, and of one that is seen to be idle: what
 * holds the lock may wait in the dependency itself.
 */
const [MAX_OWN_CALLS, MAX_IDLE_OWN_CALLS] = [0.6, 1.2];

/** Minimum and maximum of the requests served at a time if a lock admits one. */
const [MIN_LOCKED_REQUESTS, MAX_LOCKED_REQUESTS] = [0.7, 1.5];

/** Minimum ratio of the mean response time of calls to that of a single call, where they wait for a lock. */
const MIN_LOCK_STRETCH = 4;

/** Maximum of the cores that an idle dependency uses. */
const MAX_IDLE_USE = 0.5;

/**
 * Finds the dependency at which calls may wait for what other requests hold, such as a locked row of a database: it
 * would be idle most of the time with the work of these calls alone, or is seen to be, while one whole request is served at
 * a time. `null` if there is none. HTTP services lock nothing between calls.
 */
export function findLockingDependency(metrics: Metrics): LockingDependency | null {
  const { throughput, unloadedLatencyMs, single } = metrics;
  const call = findMainDependency(metrics);
  const alone = single?.inside?.outbound.find(({ origin }) => origin === call?.origin);
  if (!call?.origin.startsWith(TCP_PREFIX) || !alone || !unloadedLatencyMs) return null;
  if (alone.rate === 0 || call.rate === 0) return null;
  // By Little's law, as the times of protocols other than HTTP are medians.
  const [now, before] = [call, alone].map(({ answering, rate }) => answering / rate);
  if (!now || !before || now < MIN_LOCK_STRETCH * before) return null;
  const ownCalls = call.rate * before;
  const requests = (throughput * unloadedLatencyMs) / 1000;
  const isLocked = MIN_LOCKED_REQUESTS <= requests && requests <= MAX_LOCKED_REQUESTS;
  const program = findCalledProgram(call, metrics);
  const isIdle = program !== null && program.cores <= MAX_IDLE_USE;
  if (!isLocked || ownCalls > (isIdle ? MAX_IDLE_OWN_CALLS : MAX_OWN_CALLS)) return null;
  return { call, ownCalls, isIdle };
}

/** Describes why a dependency at which calls wait is not saturated. */
export function describeLockingDependency({ call, ownCalls }: LockingDependency): string {
  return `${rate(call.rate)} calls per second occupy ${call.origin} ${share(ownCalls)} of the time if each takes as long as a single one: they wait for what other requests hold`;
}

import { setImmediate } from '../../outbound/clock.js';
import { findField } from './fields.js';
import type { HeaderFields, UndiciRequest } from './request-tracking.js';

const targets: [url: string, signalTimeout: number][] = [];

/**
 * Records the target of a redirect with the timeout of its signal: `fetch` listens to the signal once, and follows
 * the redirect in the turn of the response.
 */
export function recordRedirect(
  { origin, path }: UndiciRequest,
  status: number,
  fields: HeaderFields,
  signalTimeout: number,
): void {
  if (status < 300 || status >= 400) return;
  const location = findField(fields, 'location');
  const base = `${origin}${path}`;
  if (location === undefined || !URL.canParse(location, base)) return;
  const target = new URL(location, base);
  // A redirect that is not followed applies to no later call.
  if (targets.length === 0) setImmediate(() => targets.splice(0));
  targets.push([`${target.origin}${target.pathname}${target.search}`, signalTimeout]);
}

/** Takes the timeout of a redirect that leads to this request; 0: there is none. */
export function takeRedirectTimeout({ origin, path }: UndiciRequest): number {
  if (targets.length === 0) return 0;
  const index = targets.findIndex(([url]) => url === `${origin}${path}`);
  if (index < 0) return 0;
  const [[, signalTimeout] = ['', 0]] = targets.splice(index, 1);
  return signalTimeout;
}

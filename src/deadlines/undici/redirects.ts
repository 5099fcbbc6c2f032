import { setImmediate } from '../../outbound/clock.js';
import { fieldOf } from './fields.js';
import type { Fields, Request } from './requests.js';

const targets: [url: string, patience: number][] = [];

/** Where a call whose application waits so long by itself is sent on to: `fetch` listens once, and follows in the turn of the answer. */
export function addRedirect(
  { origin, path }: Request,
  status: number,
  fields: Fields,
  patience: number,
): void {
  if (status < 300 || status >= 400) return;
  const location = fieldOf(fields, 'location');
  const base = `${origin}${path}`;
  if (location === undefined || !URL.canParse(location, base)) return;
  const target = new URL(location, base);
  // One that is not followed is no other call's.
  if (targets.length === 0) setImmediate(() => targets.splice(0));
  targets.push([`${target.origin}${target.pathname}${target.search}`, patience]);
}

/** How long the application waits by itself if this is the call to one of them; else 0. */
export function takeRedirect({ origin, path }: Request): number {
  if (targets.length === 0) return 0;
  const place = targets.findIndex(([url]) => url === `${origin}${path}`);
  if (place < 0) return 0;
  const [[, patience] = ['', 0]] = targets.splice(place, 1);
  return patience;
}

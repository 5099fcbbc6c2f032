import { setImmediate } from './clock.js';
import { fieldOf } from './undici-fields.js';
import type { Fields, Request } from './undici-requests.js';

const targets: string[] = [];

/** Where a call with a signal of its own is sent on to: `fetch` listens once, and follows in the turn of the answer. */
export function addRedirect({ origin, path }: Request, status: number, fields: Fields): void {
  if (status < 300 || status >= 400) return;
  const location = fieldOf(fields, 'location');
  const base = `${origin}${path}`;
  if (location === undefined || !URL.canParse(location, base)) return;
  const target = new URL(location, base);
  // One that is not followed is no other call's.
  if (targets.length === 0) setImmediate(() => targets.splice(0));
  targets.push(`${target.origin}${target.pathname}${target.search}`);
}

/** Whether this is the call to one of them. */
export function takeRedirect({ origin, path }: Request): boolean {
  if (targets.length === 0) return false;
  const place = targets.indexOf(`${origin}${path}`);
  if (place >= 0) targets.splice(place, 1);
  return place >= 0;
}

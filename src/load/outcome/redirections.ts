import type { NativeKeptResponse } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';
import { collectSecrets, splitResponse } from './failing-responses.js';

/** The first response of a redirection status. */
export interface Redirection {
  /** Its Location, without secrets; `null` if it has none. */
  location: string | null;
  /** Why `follow` did not follow it, in words. */
  obstacle: string;
}

/** Finds the first redirection of each status. */
export function findRedirections(kept: NativeKeptResponse[], plan: Plan): Map<number, Redirection> {
  const secrets = collectSecrets(plan.native);
  const found = kept.flatMap(({ status, bytes, request }): [number, Redirection][] => {
    if (status === undefined) return [];
    const { head } = splitResponse(bytes);
    const unfolded = head.replace(/\r?\n[ \t]+/g, ' ');
    const [, value] = /^location:[ \t]*(.*)$/im.exec(unfolded) ?? [];
    const location = value?.trim();
    const obstacle = explainObstacle(head, location, plan, request);
    return [
      [status, { location: location === undefined ? null : secrets.mask(location), obstacle }],
    ];
  });
  return new Map(found);
}

function explainObstacle(
  head: string,
  location: string | undefined,
  { summary, native }: Plan,
  index: number,
): string {
  if (location === undefined) return 'it has no Location';
  if (location === '') return 'its Location is empty';
  const request = native.requests[index];
  const origin = request && native.origins[request.origin];
  const host = request?.headers.find(({ name }) => name.toLowerCase() === 'host')?.value;
  const base = `${origin?.tls ? 'https' : 'http'}://${host ?? 'localhost'}/`;
  if (!URL.canParse(location, base)) return 'its Location is not a URL';
  if (new URL(location, base).origin !== new URL(base).origin) {
    return 'it leads to another server';
  }
  const ends = /^HTTP\/1\.0 /.test(head) || /^connection:.*\bclose\b/im.test(head);
  if (ends) return 'the server ends the connection with it';
  return `it comes after more redirections than --follow ${summary.follow}, or before its request had been sent in full, or the server closed the connection after it`;
}

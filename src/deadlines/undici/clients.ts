import { internal } from '../../outbound/undici-internals.js';

/** Of one origin, and origins in all. */
const MOST_CLIENTS = 8;
const MOST_ORIGINS = 1000;

/** Clients of undici with limits of their own, by origin: a request in the queue of one does not say whose it is. */
const known = new Map<string, WeakRef<object>[]>();

export function rememberClient(client: object): void {
  const origin = originOf(internal(client, 'url'));
  const before = known.get(origin) ?? [];
  const others = before.filter((one) => ![undefined, client].includes(one.deref()));
  if (before.length === 0 && known.size >= MOST_ORIGINS) return;
  known.set(origin, [new WeakRef(client), ...others].slice(0, MOST_CLIENTS));
}

/** The client that the request waits in, if it has limits of its own. */
export function queuedAt(request: { origin?: unknown }): object | undefined {
  if (known.size === 0) return undefined;
  for (const one of known.get(originOf(request.origin)) ?? []) {
    const client = one.deref();
    const queue = client && internal(client, 'queue');
    if (Array.isArray(queue) && queue.includes(request)) return client;
  }
  return undefined;
}

function originOf(url: unknown): string {
  const text = String(url);
  return URL.canParse(text) ? new URL(text).origin : text;
}

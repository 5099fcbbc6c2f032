import { readInternal } from '../../outbound/undici-internals.js';

/** Maximum number of clients per origin, and of origins. */
const MAX_CLIENTS = 8;
const MAX_ORIGINS = 1000;

/** Clients with timeouts of their own, by origin: a queued request does not refer to its client. */
const clientsByOrigin = new Map<string, WeakRef<object>[]>();
/** The clients of the requests in their queues, read at most once per turn; `null`: not in this turn. */
let clientsByRequest: Map<object, object> | null = null;

export function rememberClient(client: object): void {
  const origin = toOrigin(readInternal(client, 'url'));
  const known = clientsByOrigin.get(origin) ?? [];
  const others = known.filter((one) => ![undefined, client].includes(one.deref()));
  if (known.length === 0 && clientsByOrigin.size >= MAX_ORIGINS) return;
  clientsByOrigin.set(origin, [new WeakRef(client), ...others].slice(0, MAX_CLIENTS));
}

/** Finds the client in whose queue the request is, if it has timeouts of its own. */
export function findClientWithRequest(request: object): object | undefined {
  if (clientsByOrigin.size === 0) return undefined;
  clientsByRequest ??= readQueues();
  return clientsByRequest.get(request);
}

/** Reads all queues at once: a look-up in each, for each of many queued requests, would cost their square. */
function readQueues(): Map<object, object> {
  queueMicrotask(() => {
    clientsByRequest = null;
  });
  const found = new Map<object, object>();
  for (const one of [...clientsByOrigin.values()].flat()) {
    const client = one.deref();
    const queue = client && readInternal(client, 'queue');
    if (client === undefined || !Array.isArray(queue)) continue;
    for (const request of queue) if (request !== null) found.set(request, client);
  }
  return found;
}

function toOrigin(url: unknown): string {
  const text = String(url);
  return URL.canParse(text) ? new URL(text).origin : text;
}

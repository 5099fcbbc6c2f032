import { subscribe } from 'node:diagnostics_channel';

/** A request of any copy of undici from version 5 on. */
export interface UndiciRequest {
  origin?: unknown;
  method: string;
  path: string;
  /** The header field Host, where the application has set it. */
  host?: string | null;
  body?: unknown;
  headersTimeout?: number | null;
  bodyTimeout?: number | null;
  completed: boolean;
  aborted: boolean;
  /** Set once the request is on a connection. */
  abort?: ((error: Error) => void) | null;
  onData?(chunk: unknown): unknown;
  onError?(error: Error): void;
  /** From version 8 on. */
  onResponseError?(error: Error): void;
  onResponseData?(chunk: unknown): unknown;
}

/** Names and values in turn, or an object (HTTP/2). */
export type HeaderFields = (Buffer | string | (Buffer | string)[])[] | Record<string, unknown>;

/** Receives what happens to a request. */
export interface RequestTracker {
  onHeaders(status: number, fields: HeaderFields): void;
  /** Called when the request has ended in any way, once or more. */
  end(): void;
}

const kTracker = Symbol('millrace.call');
const kIsPatched = Symbol('millrace.isPatched');
type TrackedRequest = UndiciRequest & { [kTracker]?: RequestTracker; [kIsPatched]?: true };

/** Tracks a request from now on. */
export function trackRequest(request: UndiciRequest, tracker: RequestTracker): void {
  const tracked: TrackedRequest = request;
  tracked[kTracker] = tracker;
  if (tracked[kIsPatched] !== true) patchRequestClass(Object.getPrototypeOf(request));
}

export function findTracker(request: object): RequestTracker | undefined {
  return (request as TrackedRequest)[kTracker];
}

type OnHeaders = (
  status: number,
  fields: HeaderFields,
  resume: unknown,
  statusText: unknown,
) => unknown;
type OnUpgrade = (...args: unknown[]) => unknown;

/** Methods of the request class by which undici reports; `onHeaders` or `onResponseStart` is there. */
interface RequestMethods {
  onHeaders?: OnHeaders;
  /** From version 8 on. */
  onResponseStart?: OnHeaders;
  onFinally?: () => unknown;
  /** Up to version 7; in version 5 neither `onFinally` nor a channel reports an upgrade. */
  onUpgrade?: OnUpgrade;
  /** From version 8 on; `onFinally` reports upgrades from 8.11 on. */
  onRequestUpgrade?: OnUpgrade;
  [kIsPatched]?: true;
}

/**
 * Patches the class of requests of a copy of undici. Its diagnostics channels report the same, but each costs a call
 * as much as everything else done for it (`npm run bench -- deadlines`). They are used where the class is another one
 * than expected.
 */
function patchRequestClass(requests: RequestMethods): void {
  requests[kIsPatched] = true;
  const headMethod = requests.onResponseStart ? 'onResponseStart' : 'onHeaders';
  const upgradeMethod = requests.onRequestUpgrade ? 'onRequestUpgrade' : 'onUpgrade';
  const { [headMethod]: onHeaders, [upgradeMethod]: onUpgrade, onFinally } = requests;
  if (onUpgrade !== undefined) {
    requests[upgradeMethod] = function observe(this: TrackedRequest, ...args) {
      this[kTracker]?.end();
      return onUpgrade.apply(this, args);
    };
  }
  if (onHeaders?.length !== 4 || onFinally?.length !== 0) {
    subscribeToChannels();
    return;
  }
  requests[headMethod] = function observe(
    this: TrackedRequest,
    status,
    fields,
    resume,
    statusText,
  ) {
    this[kTracker]?.onHeaders(status, fields);
    return onHeaders.call(this, status, fields, resume, statusText);
  };
  requests.onFinally = function observe(this: TrackedRequest) {
    this[kTracker]?.end();
    return onFinally.call(this);
  };
}

interface RequestMessage {
  request: object;
  response?: { statusCode: number; headers: HeaderFields };
}

let isSubscribed = false;

function subscribeToChannels(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  const onEvent = (event: string, react: (message: RequestMessage) => void) =>
    subscribe(`undici:request:${event}`, react as (message: unknown) => void);
  onEvent('headers', ({ request, response }) => {
    if (response) findTracker(request)?.onHeaders(response.statusCode, response.headers);
  });
  onEvent('trailers', ({ request }) => findTracker(request)?.end());
  onEvent('error', ({ request }) => findTracker(request)?.end());
}

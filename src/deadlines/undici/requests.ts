import { subscribe } from 'node:diagnostics_channel';

/** A request of undici, of any copy from version 5 on. */
export interface Request {
  origin?: unknown;
  method: string;
  path: string;
  headersTimeout?: number | null;
  bodyTimeout?: number | null;
  completed: boolean;
  aborted: boolean;
  /** There once it is on a connection. */
  abort?: ((error: Error) => void) | null;
  onData?(piece: unknown): unknown;
  onError?(error: Error): void;
  /** From version 8 on. */
  onResponseError?(error: Error): void;
  onResponseData?(piece: unknown): unknown;
}

/** Name and value in turn, or an object (HTTP/2). */
export type Fields = (Buffer | string | (Buffer | string)[])[] | Record<string, unknown>;

/** Who is told what becomes of a request. */
export interface Follower {
  answered(status: number, fields: Fields): void;
  /** It has ended, somehow; may be told more than once. */
  end(): void;
}

const kFollower = Symbol('millrace.call');
const kIsHeard = Symbol('millrace.isHeard');
type Followed = Request & { [kFollower]?: Follower; [kIsHeard]?: true };

/** Asks to be told what becomes of a request. */
export function follow(request: Request, follower: Follower): void {
  const followed: Followed = request;
  followed[kFollower] = follower;
  if (followed[kIsHeard] !== true) hear(Object.getPrototypeOf(request));
}

export function followerOf(request: object): Follower | undefined {
  return (request as Followed)[kFollower];
}

type Head = (status: number, fields: Fields, resume: unknown, statusText: unknown) => unknown;
type End = (...args: unknown[]) => unknown;

/** The methods of undici's requests that tell of them; one of the first two is there. */
interface Methods {
  onHeaders?: Head;
  /** From version 8 on. */
  onResponseStart?: Head;
  onFinally?: () => unknown;
  /** Up to version 7; neither `onFinally` nor a channel tells of it in version 5. */
  onUpgrade?: End;
  /** From version 8 on; `onFinally` tells of it from 8.11 on. */
  onRequestUpgrade?: End;
  [kIsHeard]?: true;
}

/**
 * Hears all requests of a copy of undici from now on, by its class of them: undici's channels would tell the same, and
 * cost each call as much as all else that is done for it (`npm run bench -- deadlines`). A copy whose requests are
 * of another kind is heard by its channels.
 */
function hear(requests: Methods): void {
  requests[kIsHeard] = true;
  const head = requests.onResponseStart ? 'onResponseStart' : 'onHeaders';
  const upgraded = requests.onRequestUpgrade ? 'onRequestUpgrade' : 'onUpgrade';
  const { [head]: onHead, [upgraded]: onUpgraded, onFinally } = requests;
  if (onUpgraded !== undefined) {
    requests[upgraded] = function heard(this: Followed, ...args) {
      this[kFollower]?.end();
      return onUpgraded.apply(this, args);
    };
  }
  if (onHead?.length !== 4 || onFinally?.length !== 0) {
    hearChannels();
    return;
  }
  requests[head] = function heard(this: Followed, status, fields, resume, statusText) {
    this[kFollower]?.answered(status, fields);
    return onHead.call(this, status, fields, resume, statusText);
  };
  requests.onFinally = function heard(this: Followed) {
    this[kFollower]?.end();
    return onFinally.call(this);
  };
}

interface Message {
  request: object;
  response?: { statusCode: number; headers: Fields };
}

let areChannelsHeard = false;

function hearChannels(): void {
  if (areChannelsHeard) return;
  areChannelsHeard = true;
  const on = (event: string, react: (message: Message) => void) =>
    subscribe(`undici:request:${event}`, react as (message: unknown) => void);
  on('headers', ({ request, response }) => {
    if (response) followerOf(request)?.answered(response.statusCode, response.headers);
  });
  on('trailers', ({ request }) => followerOf(request)?.end());
  on('error', ({ request }) => followerOf(request)?.end());
}

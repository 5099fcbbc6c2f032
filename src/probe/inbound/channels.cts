import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

/** A request, as far as the probe looks at it. */
export interface InboundRequest {
  method?: string | undefined;
  url?: string | undefined;
  socket: { localPort?: number | undefined };
}

/** A request that has arrived, or whose response has been sent. */
export interface InboundMessage {
  request: InboundRequest;
  /** Identifies the exchange: a response of HTTP/1.1, or a stream of HTTP/2. */
  response: InboundResponse;
}

/** A response of HTTP/1.1, or a stream of HTTP/2. */
export interface InboundResponse {
  readonly destroyed: boolean;
  readonly statusCode?: number | undefined;
  /** The header fields of a stream of HTTP/2. */
  readonly sentHeaders?: Readonly<Record<string, unknown>> | undefined;
  /** The request of a response of HTTP/1.1. */
  readonly req?: { readonly socket?: { readonly destroyed?: boolean } | null };
}

/** Whether a response can no longer be sent. One that waits for those before it on a connection has no connection yet. */
export function isAborted({ destroyed, req }: InboundResponse): boolean {
  return destroyed || req?.socket?.destroyed === true;
}

type Subscriber = (message: unknown) => void;

/** Node.js publishes requests of HTTP/1.1; those of HTTP/2 are published by `Http2Streams`. */
const STARTS = ['http.server.request.start', 'millrace.http2.request.start'];
const FINISHES = ['http.server.response.finish', 'millrace.http2.response.finish'];
const [, HTTP2_START = ''] = STARTS;
const [, HTTP2_FINISH = ''] = FINISHES;

export const http2Start = channel(HTTP2_START);
export const http2Finish = channel(HTTP2_FINISH);

/** Calls the subscriber with each request that arrives, before its handler. */
export function subscribeStart(subscriber: Subscriber): void {
  for (const name of STARTS) subscribe(name, subscriber);
}

/** Returns whether it was subscribed. */
export function unsubscribeStart(subscriber: Subscriber): boolean {
  return STARTS.map((name) => unsubscribe(name, subscriber)).includes(true);
}

/** Calls the subscriber with each request whose response has been sent. */
export function subscribeFinish(subscriber: Subscriber): void {
  for (const name of FINISHES) subscribe(name, subscriber);
}

export function unsubscribeFinish(subscriber: Subscriber): void {
  for (const name of FINISHES) unsubscribe(name, subscriber);
}

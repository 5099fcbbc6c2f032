import http from 'node:http';
import { Readable } from 'node:stream';
import { type Incoming, kConnection, type Outgoing } from './internals.js';
import type { ServerSocket } from './socket.js';

type Pipe = (this: unknown, destination: unknown, options?: unknown) => unknown;

/** A request whose body goes to its own response. */
interface Piping {
  [kPiped]?: Outgoing | undefined;
}

/** 'data' and 'end'. */
const OWN_EVENTS = 2;
const kPiped = Symbol('millrace.piped');
const nodePipe = Readable.prototype.pipe as unknown as Pipe;

/**
 * `pipe` for the usual case, a request into its own response. Node's own puts five listeners on the response and takes
 * them away again, which costs as much as all else of a small request. Here the response says itself when it is over
 * (`unpipeFinished`). Everything else is Node's.
 */
function pipe(this: Incoming & Piping, destination: unknown, options?: unknown): unknown {
  // It was unpiped since.
  if (this[kPiped] !== undefined && !goesTo(this, this[kPiped])) forget(this);
  const response = destination as Outgoing & { [kConnection]?: ServerSocket };
  const state = this._readableState;
  if (
    options !== undefined ||
    response?.[kConnection] === undefined ||
    (response.req as unknown) !== this ||
    Readable.prototype.pipe !== (nodePipe as unknown) ||
    state.pipes.length > 0 ||
    state.endEmitted ||
    state.destroyed ||
    // In which order its listeners are called would differ.
    response._eventsCount > 0 ||
    (this._eventsCount > 0 && this.listenerCount('pause') > 0) ||
    response.finished ||
    response.destroyed ||
    response.writableNeedDrain
  ) {
    return nodePipe.call(this, destination, options);
  }
  this[kPiped] = response;
  state.pipes.push(response);
  this.on('end', endResponse);
  this.on('data', forward);
  if (!state.flowing) this.resume();
  return destination;
}

function forward(this: Incoming & Piping, chunk: unknown): void {
  const response = this[kPiped];
  if (!goesTo(this, response) || response.write(chunk as Buffer)) return;
  this.pause();
  response.once('drain', () => {
    if (goesTo(this, response)) this.resume();
  });
}

function endResponse(this: Incoming & Piping): void {
  const response = this[kPiped];
  if (goesTo(this, response)) response.end();
}

/** `unpipe` takes the response out of the list, and nothing else is told. */
function goesTo(request: Incoming, response: Outgoing | undefined): response is Outgoing {
  return response !== undefined && request._readableState.pipes.includes(response);
}

/** The response is over: as Node does, nothing goes to it any more, and it is told so. */
export function unpipeFinished(request: Incoming & Piping, response: Outgoing): void {
  if (request[kPiped] !== response) return;
  const state = request._readableState;
  if (state.endEmitted && response._eventsCount === 0 && request._eventsCount === OWN_EVENTS) {
    // Nobody else is to be told, and nothing more will come.
    state.pipes.length = 0;
    return;
  }
  if (goesTo(request, response)) request.unpipe(response as never);
  forget(request);
}

function forget(request: Incoming & Piping): void {
  request[kPiped] = undefined;
  request.removeListener('data', forward);
  request.removeListener('end', endResponse);
}

/** Puts the fast path into `http.IncomingMessage.prototype`, for requests of native connections alone. */
export function installPipe(): void {
  (http.IncomingMessage.prototype as unknown as { pipe: Pipe }).pipe = pipe as Pipe;
}

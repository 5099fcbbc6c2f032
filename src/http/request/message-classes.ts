import { nodeHttp } from '../node/node-http.js';
import type { Incoming, Outgoing } from '../node/node-internals.js';

type MakeRequest = new (socket: unknown) => Incoming;
type MakeResponse = new (request: unknown, options: object) => Outgoing;

/**
 * The classes of a server's requests and responses.
 *
 * An application of Express is a listener with the objects `request` and `response`. It begins each request by making
 * them the prototypes of the request and the response, which is expensive (docs/decisions/0010). For such a listener
 * the messages are created with those prototypes, so that setting them changes nothing.
 */
export class MessageClasses {
  Request: MakeRequest;
  Response: MakeResponse;
  readonly #Request: MakeRequest;
  readonly #Response: MakeResponse;
  /** The listener that the classes are for; several in an array, as in `EventEmitter`. */
  #listener: unknown;

  constructor(
    Request: MakeRequest = nodeHttp.IncomingMessage as never,
    Response: MakeResponse = nodeHttp.ServerResponse as never,
  ) {
    this.Request = this.#Request = Request;
    this.Response = this.#Response = Response;
  }

  /** Adapts the classes to the server's listener. */
  fit(listener: unknown): void {
    if (listener === this.#listener) return;
    this.#listener = listener;
    const prototypes = typeof listener === 'function' ? (listener as Application) : NONE;
    this.Request = deriveClass(prototypes.request, this.#Request);
    this.Response = deriveClass(prototypes.response, this.#Response);
  }
}

interface Application {
  readonly request?: unknown;
  readonly response?: unknown;
}

const NONE: Application = {};

/**
 * Derives a class from `Base` whose objects have this prototype; `Base` itself if the prototype is not derived from that
 * of `Base`.
 */
function deriveClass<Make extends MakeRequest | MakeResponse>(
  prototype: unknown,
  Base: Make,
): Make {
  const derive = derivations.get(Base);
  if (!(prototype instanceof Base) || derive === undefined) return Base;
  const Message = derive(Base as never);
  Message.prototype = prototype;
  // V8 adds up the fields of the constructors in this chain to reserve space for them in the object.
  Object.setPrototypeOf(Message, Base);
  return Message as never;
}

type Construct = (this: unknown, first: unknown, second: unknown) => void;

/**
 * Node's own classes, which can be called for an existing object; an application's may be a class. Stack traces name an object after
 * the function that has constructed it: here it is the key, which a bundler keeps.
 */
const derivations = new Map<unknown, (construct: Construct) => Construct>([
  [
    nodeHttp.IncomingMessage,
    (construct) =>
      ({
        IncomingMessage: function (this: unknown, first: unknown, second: unknown) {
          construct.call(this, first, second);
        },
      }).IncomingMessage,
  ],
  [
    nodeHttp.ServerResponse,
    (construct) =>
      ({
        ServerResponse: function (this: unknown, first: unknown, second: unknown) {
          construct.call(this, first, second);
        },
      }).ServerResponse,
  ],
]);

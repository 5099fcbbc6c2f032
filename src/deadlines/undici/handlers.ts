import { internal } from '../../outbound/undici-internals.js';

/** The handler of a copy of undici, and what that copy knows of the call. */
export interface Handler {
  opaque?: unknown;
  res?: unknown;
}

/** Where undici's copies before version 8 find the dispatcher for calls that name none. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const kHandler = Symbol('millrace.handler');
type Wrapped = Handler & { [kHandler]?: Handler };

interface WrapperClass {
  wrapHandler?: (handler: Handler) => Wrapped;
}

/**
 * From Node 26 on the global dispatcher is that of Node's own undici, which wraps the handlers of older copies and keeps
 * them private: remembers from now on which handler a wrapper is for.
 */
export function rememberHandlers(): void {
  const dispatcher = Reflect.get(globalThis, GLOBAL_DISPATCHER) as object | undefined;
  const wrapper = dispatcher?.constructor as WrapperClass | undefined;
  const wrap = wrapper?.wrapHandler;
  if (wrapper === undefined || wrap === undefined) return;
  wrapper.wrapHandler = (handler) => {
    const wrapped = wrap.call(wrapper, handler);
    if (wrapped !== handler) wrapped[kHandler] = handler;
    return wrapped;
  };
}

/** Who is told of the response to a request. */
export function handlerOf(request: object): Handler {
  const handler = internal(request, 'handler') as Wrapped | null | undefined;
  return handler?.[kHandler] ?? handler ?? {};
}

import diagnosticsChannel from 'node:diagnostics_channel';
import { readInternal } from '../../outbound/undici-internals.js';
import { patchMethod } from '../patch-method.js';

/** The handler of a request, with what that copy of undici stores in it. */
export interface Handler {
  opaque?: unknown;
  res?: unknown;
}

/** The symbol under which copies before version 8 find the global dispatcher. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const kHandler = Symbol('millrace.handler');
type WrappedHandler = Handler & { [kHandler]?: Handler };

interface WrapperClass {
  wrapHandler?: (handler: Handler) => WrappedHandler;
  [kHandler]?: true;
}

/**
 * Records from now on which handler a wrapper is for. Once a copy of version 8 is loaded, as Node's own is from
 * 26 on, the global dispatcher is its own; it wraps the handlers of older copies and keeps them private.
 */
export function patchHandlerWrapper(): void {
  const dispatcher = Reflect.get(globalThis, GLOBAL_DISPATCHER) as object | undefined;
  const wrapper = dispatcher?.constructor as WrapperClass | undefined;
  const wrap = wrapper?.wrapHandler;
  if (wrapper === undefined || wrap === undefined || wrapper[kHandler]) return;
  wrapper[kHandler] = true;
  wrapper.wrapHandler = (handler) => {
    const wrapped = wrap.call(wrapper, handler);
    if (wrapped !== handler) wrapped[kHandler] = handler;
    return wrapped;
  };
}

/** A promise: `queueMicrotask` allocates an asynchronous resource for each call. */
const endOfTurn = Promise.resolve();

/**
 * Patches the wrapper as soon as a copy of undici that brings one is loaded: each copy then asks for its channels. It
 * wraps the handler of the first request, too. Reading the global names that load Node's own undici, to observe them,
 * would load it.
 */
export function awaitWrapper(): void {
  patchHandlerWrapper();
  patchMethod(diagnosticsChannel, 'channel', (original) => {
    return function channel(this: unknown, ...args: Parameters<typeof original>) {
      if (String(args[0]).startsWith('undici:')) {
        patchHandlerWrapper();
        endOfTurn.then(patchHandlerWrapper);
      }
      return Reflect.apply(original, this, args);
    } as typeof original;
  });
}

/** Returns the handler of a request. */
export function findHandler(request: object): Handler {
  const handler = readInternal(request, 'handler') as WrappedHandler | null | undefined;
  return handler?.[kHandler] ?? handler ?? {};
}

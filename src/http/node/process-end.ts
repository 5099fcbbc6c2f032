/** Functions of `process` that may end it, or replace it, before they return. */
const ENDING = ['abort', 'execve', 'exit', 'kill', 'reallyExit'] as const;

type Ending = (...args: unknown[]) => unknown;
/** What Node calls for an exception that nobody has caught, and for an unhandled rejection; `false`: the process ends. */
type OnFatal = (error: unknown, isOfPromise?: boolean) => boolean;

const endings = process as unknown as Record<(typeof ENDING)[number], Ending | undefined> & {
  _fatalException?: OnFatal;
};

const actions: (() => void)[] = [];

/**
 * Calls an action whenever the process may be about to end. No listener for 'exit' does it: applications count and remove
 * these, and some ways to end a process do not emit it.
 */
export function beforeProcessEnds(action: () => void): void {
  if (actions.length === 0) followEndings();
  actions.push(action);
}

/** Calls an action before the process sends a signal; it may be to itself. */
export function beforeKill(action: (pid: unknown, signal: unknown) => void): void {
  const { kill } = endings;
  if (typeof kill !== 'function') return;
  replace('kill', kill, function (this: unknown, ...args) {
    action(args[0], args[1]);
    return kill.apply(this, args);
  });
}

function runActions(): void {
  for (const action of actions) action();
}

function followEndings(): void {
  for (const name of ENDING) {
    const original = endings[name];
    // In a worker thread some only throw.
    if (typeof original !== 'function' || 'disabled' in original) continue;
    replace(name, original, function (this: unknown, ...args) {
      runActions();
      return original.apply(this, args);
    });
  }
  const { _fatalException: onFatal } = endings;
  if (typeof onFatal !== 'function') return;
  replace('_fatalException', onFatal, function (this: unknown, ...args: Parameters<OnFatal>) {
    // The application's listeners may end the process in any way.
    runActions();
    const isHandled = onFatal.apply(this, args);
    // Listeners for 'exit' may have answered.
    if (!isHandled) runActions();
    return isHandled;
  });
}

function replace<F extends (...args: never[]) => unknown>(
  name: string,
  original: F,
  value: F,
): void {
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(value, key, { value: original[key], configurable: true });
  }
  const descriptor = Object.getOwnPropertyDescriptor(process, name);
  // Does nothing where the application has frozen it.
  Reflect.defineProperty(process, name, { ...descriptor, value });
}

/**
 * Adds a property to the objects of a prototype that an application may have under the same name: a value of another kind than the
 * stack's becomes the application's own property. `set` returns whether the stack takes a value.
 */
export function addProperty<T extends object>(
  prototype: object,
  name: string,
  get: (object: T) => unknown,
  set?: (object: T, value: unknown) => boolean,
): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: false,
    get(this: T) {
      return get(this);
    },
    set(this: T, value: unknown) {
      if (set?.(this, value)) return;
      Reflect.defineProperty(this, name, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    },
  });
}

const warned = new Set<string>();

/** Warns of a value that the stack cannot use, once for each of its settings. */
export function warnOfValue(name: string, message: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  process.emitWarning(`millrace: ${message}`);
}

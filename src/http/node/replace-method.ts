type Method = (this: never, ...args: never[]) => unknown;

/** Methods that were replaced here, by the object that has them. */
const replaced = new WeakMap<object, Set<string>>();

/**
 * Replaces a method on the object of the prototype chain that has it, once. An own copy further down would hide what an
 * application puts there later. `create` gets Node's method.
 */
export function replaceMethod<M extends Method>(
  prototype: object,
  name: string,
  create: (original: M) => M,
): void {
  const owner = findOwner(prototype, name);
  if (owner === null) return;
  const names = replaced.get(owner) ?? new Set();
  if (names.has(name)) return;
  replaced.set(owner, names.add(name));
  const descriptor = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
  const original = descriptor.value as M;
  if (typeof original !== 'function') return;
  const value = create(original);
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(value, key, { value: original[key], configurable: true });
  }
  // Does nothing where the application has frozen the prototype.
  Reflect.defineProperty(owner, name, { ...descriptor, value });
}

function findOwner(object: object, name: string): object | null {
  let owner: object | null = object;
  while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
  return owner;
}

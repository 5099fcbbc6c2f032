/** Puts a function in the place of another one, which looks the same from outside. */
export function replace<Holder extends object, Name extends keyof Holder>(
  holder: Holder,
  name: Name,
  make: (original: Holder[Name]) => Holder[Name],
): void {
  const original = holder[name];
  if (typeof original !== 'function') return;
  const made = make(original) as object;
  for (const key of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (property !== undefined && key !== 'prototype') Object.defineProperty(made, key, property);
  }
  const property = Object.getOwnPropertyDescriptor(holder, name);
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: property?.enumerable ?? true,
    writable: true,
    value: made,
  });
}

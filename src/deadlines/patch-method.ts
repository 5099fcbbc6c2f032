/** Replaces a method by a function that looks the same from outside. */
export function patchMethod<Holder extends object, Name extends keyof Holder>(
  holder: Holder,
  name: Name,
  create: (original: Holder[Name]) => Holder[Name],
): void {
  const original = holder[name];
  if (typeof original !== 'function') return;
  const replacement = create(original) as object;
  for (const key of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (property !== undefined && key !== 'prototype')
      Object.defineProperty(replacement, key, property);
  }
  const property = Object.getOwnPropertyDescriptor(holder, name);
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: property?.enumerable ?? true,
    writable: true,
    value: replacement,
  });
}

import type { Fields } from './requests.js';

/** The value of a field, by its name in lower case; of several the first. */
export function fieldOf(fields: Fields, name: string): string | undefined {
  const list = Array.isArray(fields) ? fields : Object.entries(fields).flat();
  for (let index = 0; index + 1 < list.length; index += 2) {
    if (String(list[index]).toLowerCase() === name) return String(list[index + 1]);
  }
  return undefined;
}

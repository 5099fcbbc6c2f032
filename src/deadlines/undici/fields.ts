import type { HeaderFields } from './request-tracking.js';

/** Finds a header by its name in lower case; the first value of several. */
export function findField(fields: HeaderFields, name: string): string | undefined {
  const list = Array.isArray(fields) ? fields : Object.entries(fields).flat();
  for (let index = 0; index + 1 < list.length; index += 2) {
    if (String(list[index]).toLowerCase() === name) return String(list[index + 1]);
  }
  return undefined;
}

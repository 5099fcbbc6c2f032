// Where two values differ, for messages that name it.

/** The way to a part of a value: names of fields, and positions in lists. */
export type PartPath = readonly string[];

/** Finds the first part in which two values differ: that of lists of one length and of objects, otherwise the whole. */
export function findDifferentPart(one: unknown, other: unknown): PartPath {
  if (!isDivisible(one) || !isDivisible(other)) return [];
  if (Array.isArray(one) !== Array.isArray(other)) return [];
  if (Array.isArray(one) && one.length !== (other as unknown as unknown[]).length) return [];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const name = names.find((part) => JSON.stringify(one[part]) !== JSON.stringify(other[part]));
  return name === undefined ? [] : [name, ...findDifferentPart(one[name], other[name])];
}

/** Returns the part of a value; `null` where there is none. */
export function readPart(value: unknown, path: PartPath): unknown {
  return (
    path.reduce<unknown>((part, name) => (isDivisible(part) ? part[name] : null), value) ?? null
  );
}

/** Formats the way to a part of a field, as in `targets[0].url`. */
export function formatPart(field: string, path: PartPath): string {
  return path.reduce((text, name) => text + (/^\d+$/.test(name) ? `[${name}]` : `.${name}`), field);
}

function isDivisible(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

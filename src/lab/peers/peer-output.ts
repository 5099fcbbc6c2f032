/** The number in a line that a tool always prints. */
export function number(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no line like ${pattern.source}`);
  return Number(found);
}

/** The number in a line that a tool prints only if there is something to count. */
export function countOf(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

/** The one JSON object among what a tool prints. */
export function json<T>(output: string): T {
  return JSON.parse(output.slice(output.search(/^\{/m), output.lastIndexOf('}') + 1)) as T;
}

/** Of counts with names. */
export function sum(counts: (readonly [string, number])[]): number {
  return counts.reduce((all, [, count]) => all + count, 0);
}

/** Of responses by status. */
export function unsuccessful(statuses: (readonly [string, number])[]): number {
  return sum(statuses.filter(([status]) => !/^[23]/.test(status)));
}

/** The number in a line that a tool always prints. */
export function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no line like ${pattern.source}`);
  return Number(found);
}

/** The number in a line that a tool prints only if there is something to count. */
export function readCount(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

/** The one JSON object among what a tool prints. */
export function parseJson<T>(output: string): T {
  return JSON.parse(output.slice(output.search(/^\{/m), output.lastIndexOf('}') + 1)) as T;
}

/** Of counts with names. */
export function sumCounts(counts: (readonly [string, number])[]): number {
  return counts.reduce((all, [, count]) => all + count, 0);
}

/** Of responses by status. */
export function countUnsuccessful(statuses: (readonly [string, number])[]): number {
  return sumCounts(statuses.filter(([status]) => !/^[23]/.test(status)));
}

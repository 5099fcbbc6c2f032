/** Reads a number from a line that the tool always prints. */
export function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no line like ${pattern.source}`);
  return Number(found);
}

/** Reads a number from a line that the tool prints only if it is not zero. */
export function readCount(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

/** Parses the JSON object in the output of a tool. */
export function parseJson<T>(output: string): T {
  return JSON.parse(output.slice(output.search(/^\{/m), output.lastIndexOf('}') + 1)) as T;
}

/** Adds up named counts. */
export function sumCounts(counts: (readonly [string, number])[]): number {
  return counts.reduce((all, [, count]) => all + count, 0);
}

/** Counts the responses whose status is not 2xx or 3xx. */
export function countUnsuccessful(statuses: (readonly [string, number])[]): number {
  return sumCounts(statuses.filter(([status]) => !/^[23]/.test(status)));
}

/** Finds the name that differs least from `given`, if it is close enough to be a misspelling. */
export function findNearest(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let minDistance = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(given, name);
    if (distance < minDistance) {
      best = name;
      minDistance = distance;
    }
  }
  return best;
}

// Levenshtein's distance, one row at a time.
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Computes for about `ms` of CPU time on a current core, independent of other load. */
export function compute(ms) {
  let sum = 0;
  for (let i = 0; i < ms * 500_000; i++) sum += Math.sqrt(i);
  return sum;
}

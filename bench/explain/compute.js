/** Work for the CPU that takes about `ms` on a core of today, whatever else the machine does. */
export function compute(ms) {
  let sum = 0;
  for (let i = 0; i < ms * 500_000; i++) sum += Math.sqrt(i);
  return sum;
}

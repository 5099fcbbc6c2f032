// Uses a core: all the time, or in bursts of up to `process.argv[2]` ms with pauses of the same length.
const burstMs = Number(process.argv[2] ?? 0);

function burst() {
  const end = burstMs > 0 ? performance.now() + Math.random() * burstMs : Infinity;
  while (performance.now() < end);
  setTimeout(burst, Math.random() * burstMs);
}
burst();

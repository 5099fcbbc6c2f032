// Takes a core: all the time, or for bursts of up to `process.argv[2]` ms with as long pauses.
const burstMs = Number(process.argv[2] ?? 0);

function burst() {
  const end = burstMs > 0 ? performance.now() + Math.random() * burstMs : Infinity;
  while (performance.now() < end);
  setTimeout(burst, Math.random() * burstMs);
}
burst();

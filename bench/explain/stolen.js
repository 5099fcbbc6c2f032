// What the machine's host took away, by /proc/stat.
import { readFileSync } from 'node:fs';

function ticks() {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].trim().split(/\s+/).slice(1);
  const [user, nice, system, , , irq, softirq, steal] = fields.map(Number);
  return { steal, wanted: user + nice + system + irq + softirq + steal };
}

/** Begins to look; the function that comes back tells which share of the CPU time that was wanted since then was stolen. */
export function stolenSince() {
  const before = ticks();
  return () => {
    const { steal, wanted } = ticks();
    return (steal - before.steal) / Math.max(1, wanted - before.wanted);
  };
}

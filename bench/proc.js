// What Linux tells about CPU time, in /proc.
import { readdirSync, readFileSync } from 'node:fs';

function readProcessCpuNs(pid) {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  }
  return sum;
}

/** Nanoseconds that the living threads of these processes have run. */
export function readCpuNs(pids) {
  return pids.reduce((sum, pid) => sum + readProcessCpuNs(pid), 0);
}

/** The living processes that `pid` has started, that these have started, and so on. */
export function listDescendants(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const children = text.split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...listDescendants(child)]);
}

/** Of all cores of the machine, for whomever, in seconds. */
function readMachineSeconds() {
  const ticks = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].trim().split(/\s+/).slice(1);
  const [user, nice, system, , , irq, softirq, steal] = ticks.map(Number);
  return { busy: (user + nice + system + irq + softirq + steal) / 100, stolen: steal / 100 };
}

/** Seconds that all cores of the machine were busy, for whomever; time stolen by a hypervisor included. */
export function readMachineBusySeconds() {
  return readMachineSeconds().busy;
}

/** Begins to look; the function that comes back tells which part of these seconds since then was stolen. */
export function measureSteal() {
  const before = readMachineSeconds();
  return () => {
    const { busy, stolen } = readMachineSeconds();
    return (stolen - before.stolen) / Math.max(0.01, busy - before.busy);
  };
}

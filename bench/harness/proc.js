// CPU time from /proc.
import { readdirSync, readFileSync } from 'node:fs';

function readProcessCpuNs(pid) {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  }
  return sum;
}

/** Reads the nanoseconds that the live threads of these processes have run. */
export function readCpuNs(pids) {
  return pids.reduce((sum, pid) => sum + readProcessCpuNs(pid), 0);
}

/** Lists the live descendants of `pid`. */
export function listDescendants(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const children = text.split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...listDescendants(child)]);
}

/** Reads the CPU times of the whole machine, in seconds. */
function readMachineSeconds() {
  const ticks = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].trim().split(/\s+/).slice(1);
  const [user, nice, system, , , irq, softirq, steal] = ticks.map(Number);
  return { busy: (user + nice + system + irq + softirq + steal) / 100, stolen: steal / 100 };
}

/** Reads the busy seconds of all cores of the machine, including time stolen by a hypervisor. */
export function readMachineBusySeconds() {
  return readMachineSeconds().busy;
}

/** Starts measuring steal; the returned function computes the share of the busy seconds since then that was stolen. */
export function measureSteal() {
  const before = readMachineSeconds();
  return () => {
    const { busy, stolen } = readMachineSeconds();
    return (stolen - before.stolen) / Math.max(0.01, busy - before.busy);
  };
}

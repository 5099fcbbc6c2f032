// Where the CPU time of a request goes: what is read of the reports of perf.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PARTS, readShares } from '../../../bench/budget/parts.js';

test('shares of system calls and of files are read from the reports of perf', () => {
  const symbols = `# Overhead
    70.10%     0.20%  [k] do_syscall_64
    55.50%     0.10%  [k] __x64_sys_sendto
     8.00%     0.30%  [k] __x64_sys_recvfrom
     1.50%     0.00%  [k] __x64_sys_epoll_wait
     0.50%     0.00%  [k] __x64_sys_epoll_pwait
     3.00%     3.00%  [.] sendto
`;
  const files = `# Overhead  Shared Object
    70.00%  [kernel.kallsyms]
    15.00%  node
    10.00%  [JIT] tid 17
     3.00%  millrace.linux-x64-gnu.node
     1.25%  libc.so.6
     0.75%  [vdso]
`;
  const shares = readShares({ symbols, files });
  const expected = {
    ...{ receive: 0.08, send: 0.555, wait: 0.02, kernel: 0.7, JavaScript: 0.1 },
    ...{ 'Node.js and V8': 0.15, Millrace: 0.03, nginx: 0, 'other libraries': 0.02 },
  };
  assert.deepEqual(Object.keys(shares), PARTS);
  for (const part of PARTS) {
    assert.ok(Math.abs(shares[part] - expected[part]) < 1e-9, `${part}: ${shares[part]}`);
  }
});

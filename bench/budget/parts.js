// Where the CPU time of a request goes, from the text of `perf report`. Pure.

/** System calls by what they are for, by their functions in the kernel. */
const CALLS = {
  receive: ['__x64_sys_recvfrom', 'ksys_read'],
  send: ['__x64_sys_sendto', 'do_writev', 'ksys_write'],
  wait: ['__x64_sys_epoll_wait', '__x64_sys_epoll_pwait'],
};

/** Files that code is in, by what they are. */
const FILES = {
  kernel: /^\[kernel/,
  JavaScript: /^\[JIT\]|^perf-\d+\.map|^jitted-/,
  'Node.js and V8': /^node$/,
  Millrace: /^millrace\./,
  nginx: /^nginx$/,
};

/** The parts of the kernel's time that are listed. */
export const KERNEL_PARTS = Object.keys(CALLS);
/** All parts, in the order of the table. */
export const PARTS = [...KERNEL_PARTS, ...Object.keys(FILES), 'other libraries'];

/**
 * Reads the shares of the CPU time by part: `symbols` are lines `share%  own%  [k] name` of functions, where the share includes
 * what they call; `files` are lines `share%  name`.
 */
export function readShares({ symbols, files }) {
  const shares = Object.fromEntries(PARTS.map((part) => [part, 0]));
  for (const { share, name } of readLines(symbols)) {
    const call = KERNEL_PARTS.find((part) => CALLS[part].includes(name.replace(/^\[k\] /, '')));
    if (call) shares[call] += share;
  }
  for (const { share, name } of readLines(files)) {
    const file = Object.keys(FILES).find((part) => FILES[part].test(name));
    shares[file ?? 'other libraries'] += share;
  }
  return shares;
}

function readLines(text) {
  const found = text.matchAll(/^ *([\d.]+)% +(?:[\d.]+% +)?(\S.*?) *$/gm);
  return [...found].map(([, percent, name]) => ({ share: Number(percent) / 100, name }));
}

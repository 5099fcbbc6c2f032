import { descriptorTarget } from './descriptors.js';

/** Where a descriptor's output goes. Node waits for what it writes to files and terminals, not for pipes. */
export interface OutputTarget {
  kind: 'null' | 'terminal' | 'file' | 'pipe' | 'socket' | 'other';
  /** The path of a file, or the kernel's name. */
  name: string;
}

/** `null`: not open, or it may not be read. */
export function outputTarget(pid: number, descriptor: number): OutputTarget | null {
  const name = descriptorTarget(pid, descriptor);
  return name === null ? null : { kind: kindOf(name), name };
}

function kindOf(name: string): OutputTarget['kind'] {
  if (name === '/dev/null') return 'null';
  if (/^\/dev\/(pts\/|tty|console)/.test(name)) return 'terminal';
  if (name.startsWith('pipe:')) return 'pipe';
  if (name.startsWith('socket:')) return 'socket';
  return name.startsWith('/') && !name.startsWith('/dev/') ? 'file' : 'other';
}

// Flags for the server that a command starts.
import { usageError } from '../../../errors/millrace-error.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import type { Invocation } from './invocation.js';

const { text } = storeIn(({ options }: Invocation) => options);

/** Reads a variable and its value: `PORT=3000`. */
export function readVariable(value: string, flag: string): Record<string, string> {
  const [, name, text] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
  if (name === undefined || text === undefined) {
    throw usageError(`${flag} must be NAME=VALUE (got '${value}')`);
  }
  return { [name]: text };
}

export const SERVER_FLAGS: readonly Flag<Invocation>[] = [
  {
    name: 'env',
    value: 'NAME=VALUE',
    repeatable: true,
    help: 'environment variable for the command, and for scenarios',
    details:
      'The same as NAME=VALUE before the command: -- NAME=VALUE node server.js. A file of scenarios has it in process.env.',
    set({ options }, value, flag) {
      options.env = { ...options.env, ...readVariable(value, flag) };
    },
  },
  text('cwd', 'cwd', { value: 'DIR', help: 'folder that the command runs in' }),
];

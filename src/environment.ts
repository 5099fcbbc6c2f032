import { writeSync } from 'node:fs';
import { MillraceError } from './errors.js';

/**
 * What `read` makes of the environment. This runs before the application: what is wrong there is said in one line, with exit
 * code 2, and not as an exception out of nowhere.
 */
export function fromEnvironment<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    writeSync(2, `millrace: ${error.message}\n`);
    process.exit(2);
  }
}

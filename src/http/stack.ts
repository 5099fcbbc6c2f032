// First: it completes the environment, which others read as they are loaded.
import '../environment/variables.js';
import { install } from './install/install.js';
import { isOff } from './reactor/disabled.js';
import { writeStatsAtExit } from './server/stats-file.js';

/*
 * What the package's entry points use of the stack. `scripts/bundle-stack.js` puts all of it into one file, which loads faster;
 * there is only one copy of the stack, whichever way it is loaded.
 */
export { packageVersion } from '../environment/version.js';
export { getStats, installSecureStack, installStack, isNative } from './install/installation.js';
export { serverClass } from './install/server-class.js';
export { install, isOff };

/** For `node --import millrace/register app.js`: the application is not changed. */
export function register(): void {
  install();
  if (!isOff) writeStatsAtExit();
}

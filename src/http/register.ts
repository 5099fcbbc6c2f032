import { isOff } from './install/disabled.js';
import { install } from './install/install.js';
import { writeStatsAtExit } from './server/stats-file.js';

// `import 'millrace/register'` declares the settings that servers and responses of `node:http` have.
export type {} from './index.js';

// `node --import millrace/register app.js`: the application is not changed.
install();
if (!isOff) writeStatsAtExit();

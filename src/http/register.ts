import { slipstream } from './slipstream.js';
import { writeStatsAtExit } from './stats-file.js';

// `node --import millrace/register app.js`: the application is not changed.
if (process.env.MILLRACE_STACK !== 'node') {
  slipstream();
  writeStatsAtExit();
}

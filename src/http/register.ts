import { isOff } from './off.js';
import { slipstream } from './slipstream.js';
import { writeStatsAtExit } from './stats-file.js';

// `node --import millrace/register app.js`: the application is not changed.
slipstream();
if (!isOff) writeStatsAtExit();

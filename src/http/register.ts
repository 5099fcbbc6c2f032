import http from 'node:http';
import { install } from './listen.js';
import { writeStatsAtExit } from './stats-file.js';

if (process.env.MILLRACE_STACK !== 'node') {
  install(http.Server.prototype);
  writeStatsAtExit();
}

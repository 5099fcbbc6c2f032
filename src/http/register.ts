import http from 'node:http';
import { install } from './listen.js';
import { installResponse } from './response.js';
import { installStoreHeader } from './store-header.js';
import { writeStatsAtExit } from './stats-file.js';

if (process.env.MILLRACE_STACK !== 'node') {
  install(http.Server.prototype);
  installResponse();
  installStoreHeader();
  writeStatsAtExit();
}

import http from 'node:http';
import https from 'node:https';
import { install, installSecure } from './listen.js';
import { installResponse } from './response.js';
import { installStoreHeader } from './store-header.js';
import { writeStatsAtExit } from './stats-file.js';

if (process.env.MILLRACE_STACK !== 'node') {
  install(http.Server.prototype);
  installSecure(https.Server.prototype);
  installResponse();
  installStoreHeader();
  writeStatsAtExit();
}

import http from 'node:http';
import { install } from './listen.js';

if (process.env.MILLRACE_STACK !== 'node') install(http.Server.prototype);

import { serveHello } from './hello-deadline.js';

serveHello({ whileBusy: true });

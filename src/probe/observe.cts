/**
 * Lets `millrace explain --watch` observe this process: `node --import millrace/observe app.js`. Nothing is observed
 * until it asks.
 *
 * @module millrace/observe
 */
import { isMainThread } from 'node:worker_threads';
import { listenForWatch } from './observe-socket.cjs';

// A worker thread belongs to its process, which listens already.
if (isMainThread) listenForWatch();

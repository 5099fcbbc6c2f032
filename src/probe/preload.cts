// `node --require preload.cjs`: what millrace has in NODE_OPTIONS of the processes that it starts.
import { isMainThread } from 'node:worker_threads';
import { connectProbe } from './probe.cjs';

const path = process.env.MILLRACE_PROBE;
if (path && isMainThread) connectProbe(path, false);

import type http from 'node:http';

/**
 * Node's own `http`. Not imported: an import of it as an ES module reads all of its names, and the first use of some
 * loads `fetch` and `WebSocket` (undici), 3 MB that an application may never need.
 */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http');

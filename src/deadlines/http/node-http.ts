import type http from 'node:http';

/**
 * `node:http`. An import would read its lazy exports, which load Node's own undici; from Node 26 on that becomes the
 * global dispatcher of the application's undici.
 */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http');

/** The class of all requests; libraries that imitate answers put one of their own in its place. */
export const { ClientRequest } = nodeHttp;

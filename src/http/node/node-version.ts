/** The major version of the running Node.js. */
export const MAJOR = Number.parseInt(process.versions.node, 10);

import { fileURLToPath } from 'node:url';

// The packages are in the folder above.
const packages = fileURLToPath(new URL('..', import.meta.url));

export default { turbopack: { root: packages }, outputFileTracingRoot: packages };

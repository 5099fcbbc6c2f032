import { register } from './stack.js';

// `import 'millrace/register'` declares the settings that servers and responses of `node:http` have.
export type {} from './index.js';

register();

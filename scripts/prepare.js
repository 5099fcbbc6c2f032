// Builds at `npm ci`. npm runs this once more at the first `npx millrace` in a checkout, as it then links the checkout
// into its cache: what is built already stays.
import { existsSync } from 'node:fs';

const built = existsSync(new URL('../dist/cli/main.js', import.meta.url));
if (!(built && process.env.npm_command === 'exec')) await import('./build.js');

// Builds at `npm ci`. npm runs this once more at the first `npx millrace` in a checkout, as it then links the checkout
// into its cache: an existing build is kept.
import { existsSync, rmSync } from 'node:fs';

const built = existsSync(new URL('../dist/cli/main.js', import.meta.url));
if (!(built && process.env.npm_command === 'exec')) await import('./build.js');

// npm packs its clone of a dependency from git, for which no package with the addon exists, so the addon is included.
if (process.env._PACOTE_NO_PREPARE_)
  rmSync(new URL('../native/.npmignore', import.meta.url), { force: true });

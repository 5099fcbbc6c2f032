// Installs the packages of the applications, and builds the one of Next, where that has not been done.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Prepares what the applications of these cases need. `node` is the binary that builds. */
export function prepareApplications(cases, node) {
  // npm writes this file when it has installed everything.
  if (!existsSync(here('node_modules/.package-lock.json'))) {
    console.error('installing the packages of the applications (bench/apps)');
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
      cwd: folder,
      stdio: 'inherit',
    });
  }
  const builds = cases.some(({ load }) => load.app.endsWith('/next'));
  if (builds && !existsSync(here('next/.next/BUILD_ID'))) buildNext(node);
}

/** Makes the production build of Next's application. */
function buildNext(node) {
  console.error('building the application of Next (bench/apps/next)');
  execFileSync(node, [here('node_modules/next/dist/bin/next'), 'build'], {
    cwd: here('next'),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
  });
}

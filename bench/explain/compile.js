// Compiles services in TypeScript, with source maps, into a folder that git ignores.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const services = fileURLToPath(new URL('services', import.meta.url));
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));

/** Compiles the service of a case, if it is in TypeScript: the project above its folder `dist`. */
export function compileService({ typescript = false, service }) {
  if (!typescript) return;
  const project = join(services, service, '..', '..');
  const argv = [compiler, '--project', project];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${service}: ${stdout.trim().split('\n')[0]}`);
}

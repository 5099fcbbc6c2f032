import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * Starts the dependency `kind` (`http`, `lines`, `disk`) and gives what it says when it is ready: its port, or `null`.
 * It stands for another host, so it is no descendant of the service, and no probe of the service's gets into it. It
 * ends when the service does, see `ready.js`.
 *
 * @param options see the file of the kind
 */
export async function startDependency(kind, options) {
  const file = fileURLToPath(new URL(`${kind}.js`, import.meta.url));
  const { NODE_OPTIONS, ...env } = process.env;
  const child = spawn('setsid', ['--fork', process.execPath, file, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    env: { ...env, UV_THREADPOOL_SIZE: '300' },
  });
  const [line] = await once(child.stdout, 'data');
  child.stdout.destroy();
  child.stdio[3].unref();
  return JSON.parse(line);
}

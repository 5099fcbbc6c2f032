import { writeSync } from 'node:fs';
import { MillraceError } from '../errors/millrace-error.js';

/**
 * What `read` makes of the environment. This runs before the application: what is wrong there is said in one line, with exit
 * code 2, and not as an exception out of nowhere.
 */
export function fromEnvironment<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    writeSync(2, `millrace: ${error.message}\n`);
    process.exit(2);
  }
}

/**
 * Sets the variables of a worker of PM2's cluster mode. PM2 starts it with them as JSON, in `pm2_env`, and sets them when its
 * own script runs: behind what `--import` loads, which would miss them.
 */
function setVariablesOfPm2(): void {
  const { pm2_env: json } = process.env;
  if (json === undefined) return;
  for (const [name, value] of Object.entries(parseObject(json))) {
    const isValue = typeof value === 'string' || typeof value === 'number';
    if (name.startsWith('MILLRACE_') && isValue) process.env[name] = String(value);
  }
}

function parseObject(json: string): object {
  try {
    return Object(JSON.parse(json));
  } catch {
    // Somebody else's variable.
    return {};
  }
}

setVariablesOfPm2();

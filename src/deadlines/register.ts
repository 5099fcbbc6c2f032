/**
 * Puts time limits on the outbound calls of this process: `node --import millrace/deadlines/register app.js`. Exports what
 * `millrace/deadlines` does.
 *
 * @module millrace/deadlines/register
 */
import { syncBuiltinESMExports } from 'node:module';
import { fromEnvironment } from '../environment/variables.js';
import { activate } from './active-hosts.js';
import { patchSignals } from './call/abort-signals.js';
import { readEnvironment } from './environment.js';
import { Hosts } from './hosts.js';
import { limitHttp } from './http/client-request.js';
import { limitConnections } from './http/connects.js';
import { limitUndici } from './undici/dispatcher.js';

export { channels, DeadlineError, default, limitsFor, stats } from './index.js';

const options = fromEnvironment(() => readEnvironment(process.env));

if (!options.isOff) {
  const hosts = new Hosts(options);
  activate(hosts);
  limitConnections(hosts);
  limitHttp(hosts);
  limitUndici(hosts);
  patchSignals();
  syncBuiltinESMExports();
}

import { LOAD_OPTIONS, OTHER_LOAD_NAMES } from '../load/option-schema.js';
import type { LoadOptions } from '../load/options.js';
import { duration, flag, type OtherNames, type Shapes, text } from '../validation/shape.js';
import type { Duration } from '../validation/units.js';

/** Options of `loadOnHosts()`: those of a load, and how its machines are reached. */
export interface HostsOptions extends LoadOptions {
  /** The client of ssh with flags of its own, such as `'ssh -F hosts.config'`. Default `'ssh'`. */
  ssh?: string;
  /** What starts millrace on a host. Default `'millrace'`. */
  remoteCommand?: string;
  /** Whether this package is copied to the hosts for the time of the run: they need Node alone. Default `false`. */
  copy?: boolean;
  /** How much the clock of a host may differ. Starts are corrected by the difference. Default 100 ms. */
  clockSkew?: Duration;
}

/** The options that are not those of a load. */
export type ConnectionOptions = Pick<HostsOptions, 'ssh' | 'remoteCommand' | 'copy' | 'clockSkew'>;

export const HOSTS_OPTIONS: Shapes<HostsOptions> = {
  ...LOAD_OPTIONS,
  ...{ ssh: text, remoteCommand: text, copy: flag, clockSkew: duration },
};

export const OTHER_HOSTS_NAMES: OtherNames<HostsOptions> = OTHER_LOAD_NAMES;

/** Defaults of the options of `loadOnHosts()`. */
export const HOSTS_DEFAULTS = {
  ssh: 'ssh',
  remoteCommand: 'millrace',
  copy: false,
  clockSkewMs: 100,
} as const;

/** Interval at which both sides hear of each other. */
export const PING_MS = 1000;

/** Silence after which a host is given up. */
export const SILENT_HOST_MS = 10_000;

/** Silence after which a host ends its run: who started it is gone. */
export const SILENT_COORDINATOR_MS = 20_000;

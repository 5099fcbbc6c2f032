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

/** The same while a host reads what it was sent: a large file keeps it busy. ssh itself notices a network that is gone. */
export const SILENT_PREPARING_MS = 120_000;

/** The same until a host has started millrace: npx may have to fetch it. */
export const SILENT_STARTING_MS = 60_000;

/** Silence after which a host ends its run: who started it is gone. */
export const SILENT_COORDINATOR_MS = 20_000;

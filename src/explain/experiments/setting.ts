/** Conditions that decide which experiments are possible. */
export interface ExperimentSetting {
  /** Whether the server has a probe. */
  hasProbe: boolean;
  /** Whether the server runs on millrace's native HTTP stack. */
  isNativeStack: boolean;
  /** Whether millrace started the server, and can restart it. */
  canRestart: boolean;
  /** Whether more load than the user asked for is allowed. */
  canAddLoad: boolean;
  /** Whether calls to other services may be changed: answered from memory, delayed, over more connections. */
  canChangeDependencies: boolean;
  /** Path of the Unix socket on which the server listens, which a second process would take over. */
  socketPath: string | null;
}

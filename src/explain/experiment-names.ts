// The ids of experiments and of what they compare, as results have them, and their labels, as reports have them.

/** The label of each experiment. */
export const EXPERIMENT_LABELS = {
  'connections-x2': 'connections x2',
  'connections-half': 'connections /2',
  'cpu-injection': 'CPU injection',
  'early-ack': 'early acknowledgement',
  'identity-encoding': 'identity encoding',
  'keep-alive': 'keep-alive',
  'tls-keep-alive': 'TLS kept',
  'tls-resumption': 'TLS resumed',
  'no-pipelining': 'no pipelining',
  'generator-threads-x2': 'generator threads x2',
  'output-discarded': 'output discarded',
  'writes-corked': 'writes corked',
  'max-sockets-x2': 'max sockets x2',
  'outbound-delay': 'calls delayed',
  'pool-x2': 'database pool x2',
  'outbound-from-memory': 'calls from memory',
  'dependency-delay': 'dependency delayed',
  'outbound-nodelay': 'outbound TCP_NODELAY',
  'not-found-path': 'path not found',
  'second-process': 'second process',
  'think-time-half': 'half the think time',
  'thread-pool-x4': 'thread pool x4',
  'young-generation-x4': 'young generation x4',
  'heap-x2': 'heap x2',
  'client-timeout': 'client timeout',
  restart: 'restart',
  'file-writes-in-memory': 'file writes in memory',
  'memory-after-gc': 'memory after collection',
  'dependency-time-connections-x2': 'dependency, connections x2',
  'dependency-time-pool-x2': 'dependency, database pool x2',
  'pool-wait-connections-x2': 'pool wait, connections x2',
} as const;

export type ExperimentName = keyof typeof EXPERIMENT_LABELS;

/** The label of each quantity that experiments compare. */
export const METRIC_LABELS = {
  throughput: 'throughput',
  responses: 'responses per second',
  'finished-requests': 'finished requests per second',
  'failed-share': 'share of failed requests',
  'cpu-per-response': 'CPU per response',
  'dependency-time': 'response time of the dependency',
  'pool-wait': 'wait for a thread of the pool',
  'memory-growth': 'memory growth per request',
} as const;

export type ExperimentMetric = keyof typeof METRIC_LABELS;

/** Returns the label of a metric; a stored result may have another text. */
export function labelMetric(metric: string): string {
  return Object.hasOwn(METRIC_LABELS, metric) ? METRIC_LABELS[metric as ExperimentMetric] : metric;
}

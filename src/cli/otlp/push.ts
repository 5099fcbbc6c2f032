import { packageVersion } from '../../environment/version.js';
import type { LoadSnapshot } from '../../index.js';
import { maskUrl } from '../../masking/text.js';
import type { RunFollower } from '../run-follower.js';
import { printMessage } from '../terminal/print.js';
import type { Exporter } from './data.js';
import { OTLP_BUCKETS_MS } from './histogram.js';
import { toMetrics } from './metrics.js';
import { loadExporter } from './package.js';
import { readResource } from './resource.js';

/** Time between two exports, unless OTEL_METRIC_EXPORT_INTERVAL says another. */
const INTERVAL_MS = 5000;

/** Time limit of an export, with what the exporter tries again. */
const TIMEOUT_MS = 3000;

/** Pushes the figures of a run to a collector every few seconds, and at the end. */
export function pushMetrics(url: string): RunFollower {
  const { OTLPMetricExporter } = loadExporter();
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: TIMEOUT_MS });
  const { OTEL_METRIC_EXPORT_INTERVAL: interval } = process.env;
  return new MetricsPush(exporter, url, Number(interval) > 0 ? Number(interval) : INTERVAL_MS);
}

class MetricsPush implements RunFollower {
  readonly bucketsMs = OTLP_BUCKETS_MS;
  readonly #exporter: Exporter;
  readonly #url: string;
  readonly #intervalMs: number;
  readonly #resource = { attributes: readResource(process.env) };
  readonly #scope = { name: 'millrace', version: packageVersion() };
  /** When the measurement began, in milliseconds of Unix time. */
  #fromMs: number | null = null;
  #newest: LoadSnapshot | null = null;
  #exportedAtMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | null = null;
  #hasWarned = false;

  constructor(exporter: Exporter, url: string, intervalMs: number) {
    this.#exporter = exporter;
    this.#url = url;
    this.#intervalMs = intervalMs;
  }

  async follow(snapshots: AsyncIterable<LoadSnapshot>): Promise<void> {
    for await (const snapshot of snapshots) {
      if (snapshot.phase !== 'measure') continue;
      this.#newest = snapshot;
      const now = performance.timeOrigin + performance.now();
      this.#fromMs ??= now - snapshot.elapsedMs;
      const isDue = now - this.#exportedAtMs >= this.#intervalMs;
      if (isDue && this.#underWay === null) this.#start();
    }
  }

  /** Exports what the run came to. */
  async close(): Promise<void> {
    await this.#underWay;
    this.#start();
    await this.#underWay;
    await this.#exporter.shutdown().catch(() => {});
  }

  /** Starts an export of the newest figures, if there are some. */
  #start(): void {
    if (this.#newest === null || this.#fromMs === null) return;
    const toMs = performance.timeOrigin + performance.now();
    this.#exportedAtMs = toMs;
    const metrics = toMetrics(this.#newest, { fromMs: this.#fromMs, toMs });
    const all = {
      resource: this.#resource,
      scopeMetrics: [{ scope: this.#scope, metrics }],
    };
    this.#underWay = new Promise<void>((resolve) => {
      this.#exporter.export(all, ({ error }) => {
        if (error) this.#warn(error);
        resolve();
      });
    })
      .catch((error) => this.#warn(error))
      .finally(() => {
        this.#underWay = null;
      });
  }

  /** Warns once: the run goes on, and so do the exports. */
  #warn(error: Error & { code?: unknown }): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const code = typeof error.code === 'number' ? `status ${error.code}` : error.code;
    const reason = [code, error.message].find((text) => typeof text === 'string' && text !== '');
    printMessage(
      `warning: --otlp: ${maskUrl(this.#url)} did not take the metrics: ${reason ?? error}`,
    );
  }
}

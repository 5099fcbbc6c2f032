// The part of OpenTelemetry's data model that is sent, as its packages take it.

/** Seconds of Unix time, and nanoseconds. */
export type HrTime = [seconds: number, nanos: number];

export type Attributes = Record<string, string | number>;

/** A value over the time from `startTime` to `endTime`. */
export interface DataPoint<Value> {
  startTime: HrTime;
  endTime: HrTime;
  attributes: Attributes;
  value: Value;
}

/** Numbers of values in (2^(i / 2^scale), 2^((i + 1) / 2^scale)], from i = `offset` on. */
export interface Buckets {
  offset: number;
  bucketCounts: number[];
}

export interface ExponentialHistogram {
  count: number;
  sum: number;
  scale: number;
  zeroCount: number;
  positive: Buckets;
  negative: Buckets;
}

interface Descriptor {
  name: string;
  description: string;
  unit: string;
  /** 0: whole numbers, 1: others. */
  valueType: 0 | 1;
}

/** A metric, by the numbers that OpenTelemetry's enumerations have: 1 is cumulative, and an exponential histogram; 3 is a sum. */
export type Metric =
  | {
      descriptor: Descriptor;
      aggregationTemporality: 1;
      dataPointType: 1;
      dataPoints: DataPoint<ExponentialHistogram>[];
    }
  | {
      descriptor: Descriptor;
      aggregationTemporality: 1;
      dataPointType: 3;
      isMonotonic: boolean;
      dataPoints: DataPoint<number>[];
    };

/** What is sent at a time. */
export interface ResourceMetrics {
  resource: { attributes: Attributes };
  scopeMetrics: { scope: { name: string; version: string }; metrics: Metric[] }[];
}

/** The exporter of the package. */
export interface Exporter {
  export(metrics: ResourceMetrics, done: (result: { error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/** What a hook knows and can change. */
export interface HookContext {
  /** Variables of the user by name: numbers, text, and other values of JSON. What is set here is known to the steps after. */
  readonly variables: Record<string, unknown>;
  /** Number of the iteration, from 0. */
  readonly iteration: number;
  /** What `setup()` returned. */
  readonly data: unknown;
  /** Metrics of one's own. */
  readonly metrics: {
    /** Adds a value to a metric: a counter is its sum, a trend its other figures. */
    add(name: string, value?: number): void;
  };
}

/** A response, as a hook gets it. */
export interface HookResponse {
  /** The status. */
  readonly status: number;
  /** Values of headers by name in lower case; several are joined by commas, those of `set-cookie` by line breaks. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, decoded; empty if it is longer than `maxBody`. */
  readonly body: Buffer;
  /** The body as text. */
  text(): string;
  /** The body as a value of JSON; throws if it is none. */
  json<Value = unknown>(): Value;
  /** Time from when the step was due to the end of the response. */
  readonly durationMs: number;
}

/** Called before a request is built. What it throws fails the step. */
export type BeforeHook = (context: HookContext) => unknown;

/** Called with a response. What it throws fails the step. */
export type AfterHook = (response: HookResponse, context: HookContext) => unknown;

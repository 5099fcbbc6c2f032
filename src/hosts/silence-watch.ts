import { PING_MS } from './defaults.js';

/** Tells when nothing has been heard of the other end for too long; both sides send something at least every `PING_MS`. */
export class SilenceWatch {
  /** How long nothing may be heard. */
  limitMs: number;
  #heardMs = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(limitMs: number, onSilent: () => void) {
    this.limitMs = limitMs;
    let lastMs = performance.now();
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      // This process was busy or stopped: what has come meanwhile is not read yet.
      if (nowMs - lastMs > 2 * PING_MS) this.#heardMs = nowMs;
      lastMs = nowMs;
      if (nowMs - this.#heardMs <= this.limitMs) return;
      this.stop();
      onSilent();
    }, PING_MS);
  }

  hear(): void {
    this.#heardMs = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

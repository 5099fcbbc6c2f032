import type { HttpServer } from '../node/node-internals.js';

/** Node's own listeners of a server, each with its replacement. */
export class ReplacedListeners {
  readonly #server: HttpServer;
  /** Node's own listener and its replacement, by event. */
  readonly #pairs = new Map<string, [original: unknown, replacement: unknown]>();

  constructor(server: HttpServer) {
    this.#server = server;
  }

  /** Replaces Node's own listener, unless the application has removed it. */
  replace(event: string, original: unknown, replacement: unknown): void {
    this.#pairs.set(event, [original, replacement]);
    const { _events } = this.#server;
    const listening = _events[event];
    // In the array itself, in which newer versions keep whether it is being called.
    if (listening === original) _events[event] = replacement;
    else if (Array.isArray(listening) && listening.includes(original)) {
      listening[listening.indexOf(original)] = replacement;
    }
  }

  /** Whether the replacement is installed; an application may have removed it, to call it itself or never. */
  isInstalled(event: string): boolean {
    const [original, replacement] = this.#pairs.get(event) ?? [];
    const listening = this.#server._events[event];
    if (listening === replacement) return true;
    const all = [listening].flat();
    // The application has added Node's own listener again.
    if (all.includes(original)) this.replace(event, original, replacement);
    return all.includes(replacement) || all.includes(original);
  }
}

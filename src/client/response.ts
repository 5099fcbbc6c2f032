import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

/** As undici gives it. */
export type Answer = Dispatcher.ResponseData<unknown>;

/** The answer to a call. */
export class ClientResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Record<string, string | string[] | undefined>;
  /** To be read, or given up with `dump()`: its connection is taken until then. */
  readonly body: Readable;
  /** How often the call was made. */
  readonly tries: number;
  readonly #body: Answer['body'];

  constructor({ statusCode, headers, body }: Answer, tries: number) {
    this.status = statusCode;
    this.headers = headers;
    this.body = body;
    this.tries = tries;
    this.#body = body;
  }

  /** The status is 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  async text(): Promise<string> {
    this.#refuseUsed();
    return this.#body.text();
  }

  async json(): Promise<unknown> {
    this.#refuseUsed();
    return this.#body.json();
  }

  async bytes(): Promise<Uint8Array> {
    this.#refuseUsed();
    return new Uint8Array(await this.#body.arrayBuffer());
  }

  /** Does without the body. */
  async dump(): Promise<void> {
    await this.#body.dump();
  }

  #refuseUsed(): void {
    if (this.#body.bodyUsed) {
      throw new TypeError('The body has been read already; it comes once (millrace/client)');
    }
  }
}

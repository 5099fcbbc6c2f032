import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

/** The response of undici. */
export type UndiciResponse = Dispatcher.ResponseData<unknown>;

/** The response of a call. */
export class ClientResponse {
  readonly status: number;
  /** Headers, by name in lower case. */
  readonly headers: Record<string, string | string[] | undefined>;
  /** The body. Its connection is in use until the body is read, or discarded with `dump()`. */
  readonly body: Readable;
  /** Number of tries. */
  readonly tries: number;
  readonly #body: UndiciResponse['body'];

  constructor({ statusCode, headers, body }: UndiciResponse, tries: number) {
    this.status = statusCode;
    this.headers = headers;
    this.body = body;
    this.tries = tries;
    this.#body = body;
  }

  /** Whether the status is 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  async text(): Promise<string> {
    this.#refuseSecondRead();
    return this.#body.text();
  }

  async json(): Promise<unknown> {
    this.#refuseSecondRead();
    return this.#body.json();
  }

  async bytes(): Promise<Uint8Array> {
    this.#refuseSecondRead();
    return new Uint8Array(await this.#body.arrayBuffer());
  }

  /** Discards the body. */
  async dump(): Promise<void> {
    await this.#body.dump();
  }

  #refuseSecondRead(): void {
    if (this.#body.bodyUsed) {
      throw new TypeError('The body has already been read; it can be read once (millrace/client)');
    }
  }
}

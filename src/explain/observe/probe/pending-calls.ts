interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Calls of a connection that wait for their answers, by id. */
export class PendingCalls {
  readonly #calls = new Map<number, PendingCall>();
  #lastId = 0;

  /** Adds a call and returns its id. */
  add(call: PendingCall): number {
    const id = ++this.#lastId;
    this.#calls.set(id, call);
    return id;
  }

  /** Removes a call, whose answer is no longer awaited. */
  remove(id: number): void {
    this.#calls.delete(id);
  }

  /** Ends a call with the message of an error, or with a value. An unknown id is ignored. */
  settle(id: number, error: string | undefined, value: unknown): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(new Error(error));
  }

  /** Ends all calls with an error. */
  rejectAll(message: string): void {
    for (const { reject } of this.#calls.values()) reject(new Error(message));
    this.#calls.clear();
  }
}

/** Parses the object of a message; `null` if the text is not one. */
export function parseObject<Message extends object>(text: string): Message | null {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' ? (message as Message | null) : null;
  } catch {
    return null;
  }
}

/**
 * A value that changes, for any number of readers. A reader that is slower than the changes skips values: it always gets
 * the newest, and nothing is queued for it.
 */
export class LatestValue<T> implements AsyncIterable<T> {
  #newest: T[] = [];
  #count = 0;
  #ended = false;
  #wake: () => void = () => {};
  #change = this.#nextChange();

  push(value: T): void {
    this.#newest = [value];
    this.#count += 1;
    this.#notify();
  }

  end(): void {
    this.#ended = true;
    this.#notify();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    let readCount = this.#count;
    for (;;) {
      if (readCount < this.#count) {
        readCount = this.#count;
        yield* this.#newest;
      } else if (this.#ended) {
        return;
      } else {
        await this.#change;
      }
    }
  }

  /** Makes the promise iterable: over the values until the promise is settled. */
  follow<Result>(result: Promise<Result>): Promise<Result> & AsyncIterable<T> {
    const changes = this;
    async function* iterate(): AsyncGenerator<T, void, void> {
      // The reader gets the error below; until then a rejection must not count as unhandled.
      result.catch(() => {});
      yield* changes;
      await result;
    }
    return Object.assign(result, { [Symbol.asyncIterator]: iterate });
  }

  #notify(): void {
    const wake = this.#wake;
    this.#change = this.#nextChange();
    wake();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

import cluster, { type Address, type Worker } from 'node:cluster';

/** A cluster worker that listens on a port; 0 stands for a path. */
export interface ListeningWorker {
  pid: number;
  port: number;
}

/** Maximum number of entries: a worker may listen repeatedly, on a new port each time. */
const MAX_WORKERS = 1000;

/**
 * The workers of this process's cluster that listen. Other workers have other tasks, and are not expected to receive
 * requests.
 */
export class ListeningWorkers {
  all: ListeningWorker[] = [];
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  watch(on: boolean): void {
    if (on) cluster.on('listening', this.#onListening).on('exit', this.#onExit);
    else cluster.off('listening', this.#onListening).off('exit', this.#onExit);
  }

  readonly #onListening = ({ process: { pid } }: Worker, address: Address) => {
    const port = Math.max(0, address.port ?? 0);
    const isKnown = this.all.some((one) => one.pid === pid && one.port === port);
    if (pid === undefined || isKnown || this.all.length >= MAX_WORKERS) return;
    this.all.push({ pid, port });
    this.#onChange();
  };

  readonly #onExit = ({ process: { pid } }: Worker) => {
    this.all = this.all.filter((one) => one.pid !== pid);
  };
}

import { connect, type Socket } from 'node:net';
import type { CommandMessage, ProbeMessage } from './protocol.cjs';
import { ignoreErrors } from './runtime/clock.cjs';

/** The line to millrace. It keeps nothing alive, says nothing, and ends without an error. */
export class Channel {
  readonly #socket: Socket;

  /** @param onEnd told whether there was a connection at all */
  constructor(
    path: string,
    onCommand: (message: CommandMessage) => void,
    onEnd: (wasOpen: boolean) => void,
  ) {
    const socket = connect(path);
    this.#socket = socket;
    let isOpen = false;
    socket.once('connect', () => {
      isOpen = true;
    });
    socket.unref();
    socket.setEncoding('utf8');
    let rest = '';
    const read = ignoreErrors((chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onCommand(JSON.parse(line));
    });
    socket.on('data', read);
    socket.on('error', () => {});
    const end = ignoreErrors(onEnd);
    socket.on('close', () => end(isOpen));
  }

  /** Whether what was sent has left. Else there is no point in a sample: the next one tells all of it. */
  get isFree(): boolean {
    return this.#socket.writableLength === 0;
  }

  send(message: ProbeMessage): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}

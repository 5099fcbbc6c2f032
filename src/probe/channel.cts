import type { Socket } from 'node:net';
import type { CommandMessage, ProbeMessage } from './protocol.cjs';
import { ignoreErrors } from './runtime/clock.cjs';

/** Maximum length of a command. Whatever sends a longer one is not Millrace. */
const MAX_COMMAND_LENGTH = 1_000_000;

/** The connection to Millrace. It does not keep the process alive, prints nothing, and ends without an error. */
export class Channel {
  readonly #socket: Socket;

  /**
   * @param socket connected, or about to be
   * @param onEnd receives whether the connection was ever open
   */
  constructor(
    socket: Socket,
    onCommand: (message: CommandMessage) => void,
    onEnd: (wasOpen: boolean) => void,
  ) {
    this.#socket = socket;
    let isOpen = !socket.connecting;
    socket.once('connect', () => {
      isOpen = true;
    });
    socket.unref();
    socket.setEncoding('utf8');
    let rest = '';
    const read = ignoreErrors((chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_COMMAND_LENGTH) socket.destroy();
      for (const line of lines) onCommand(JSON.parse(line));
    });
    socket.on('data', read);
    socket.on('error', () => {});
    const end = ignoreErrors(onEnd);
    socket.on('close', () => end(isOpen));
  }

  /** Whether everything sent has left. Otherwise a sample is skipped: the next one contains the same counters. */
  get isFree(): boolean {
    return this.#socket.writableLength === 0;
  }

  send(message: ProbeMessage): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}

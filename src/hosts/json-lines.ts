import { StringDecoder } from 'node:string_decoder';

/** Reads the lines of a stream until it ends; an end by an error is an end. `onChunk` is called whenever something has come. */
export async function* readLines(
  input: AsyncIterable<Buffer | string>,
  onChunk: () => void = () => {},
): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  try {
    for await (const chunk of input) {
      onChunk();
      const text = typeof chunk === 'string' ? chunk : decoder.write(chunk);
      const [first = '', ...others] = text.split('\n');
      parts.push(first);
      for (const next of others) {
        yield parts.join('');
        parts = [next];
      }
    }
  } catch {
    // The process at the other end, or the connection to it, is gone.
  }
}

/** Parses a line; `null` if it is no message: shells print lines of their own. */
export function parseMessage<Message extends { type: string }>(line: string): Message | null {
  if (!line.startsWith('{')) return null;
  try {
    const value = JSON.parse(line) as Message;
    return typeof value?.type === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** Formats a message as a line. */
export function formatMessage(message: { type: string }): string {
  return `${JSON.stringify(message)}\n`;
}

// The bodies of requests, as files for the clients.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BOUNDARY = 'boundary-of-the-benchmark';

/**
 * Writes the body that a load asks for: of `bodyBytes`, a form with a file of `formBytes`, or a message of gRPC with
 * `messageText`. Returns what that adds to the load: `body` as millrace takes it, `bodyFile` for other clients, the
 * `headers` of a form, and in `framedFile` a message as it is in a request.
 */
export function createBody({ bodyBytes, formBytes, messageText }, directory) {
  if (bodyBytes) return write(Buffer.alloc(bodyBytes, 'x'), directory);
  if (messageText) return writeMessage(messageText, directory);
  if (!formBytes) return {};
  const headers = [`Content-Type: multipart/form-data; boundary=${BOUNDARY}`];
  return { ...write(buildForm(formBytes), directory), headers };
}

/** Writes a message whose field 1 is a short text. */
function writeMessage(text, directory) {
  const message = Buffer.concat([Buffer.of(0x0a, text.length), Buffer.from(text)]);
  const framedFile = join(directory, 'framed');
  // Not compressed, and its length in four bytes.
  writeFileSync(framedFile, Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]));
  return { ...write(message, directory), framedFile };
}

function write(bytes, directory) {
  const bodyFile = join(directory, 'body');
  writeFileSync(bodyFile, bytes);
  return { body: `@${bodyFile}`, bodyFile };
}

/** Builds a form of two fields and a file (RFC 7578). */
export function buildForm(fileBytes) {
  const part = (disposition, content) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ];
  return Buffer.concat([
    ...part('name="title"', Buffer.from('a title')),
    ...part('name="text"', Buffer.from('some text')),
    ...part('name="file"; filename="file.bin"', Buffer.alloc(fileBytes, 'x')),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

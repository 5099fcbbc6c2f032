import net from 'node:net';

/** What an application saw, by connection: lines of text in the order in which things happened. */
export class Record {
  #connections = new Map();

  of(socket) {
    return this.#connections.get(socket.record ?? socket.remotePort);
  }

  /** To be called on 'connection'. `quiet` adds no listener, which is the usual case of an application. */
  connection(socket, quiet) {
    const seen = { socket, lines: [], exchanges: [] };
    socket.record = socket.remotePort;
    this.#connections.set(socket.remotePort, seen);
    if (quiet) return;
    socket.on('close', (hadError) => seen.lines.push(`socket close ${hadError}`));
  }

  line(socket, text) {
    this.of(socket).lines.push(text);
  }

  exchange(req, res, quiet) {
    const seen = this.of(req.socket);
    const number = seen.exchanges.push({ req, res });
    const line = (text) => seen.lines.push(`${number} ${text}`);
    line(`request ${describe(req)}`);
    if (quiet) return line;
    for (const event of ['end', 'close', 'aborted']) req.on(event, () => line(`req ${event}`));
    req.on('error', (error) => line(`req error ${error.code}`));
    for (const event of ['prefinish', 'finish', 'close']) {
      res.on(event, () => line(`res ${event}`));
    }
    return line;
  }

  /** Everything about one connection, and forgets it. */
  take(port) {
    const seen = this.#connections.get(port);
    this.#connections.delete(port);
    if (!seen) return null;
    const native = Object.getPrototypeOf(seen.socket) !== net.Socket.prototype;
    return { native, lines: seen.lines, states: seen.exchanges.map(state) };
  }
}

function describe(req) {
  const { method, url, httpVersion, rawHeaders, headers, upgrade } = req;
  const distinct = req.headersDistinct;
  return JSON.stringify({ method, url, httpVersion, rawHeaders, headers, distinct, upgrade });
}

/** How a request and its response ended. */
function state({ req, res }) {
  const { complete, aborted, destroyed, readableEnded, closed, rawTrailers, trailers } = req;
  const request = { complete, aborted, destroyed, readableEnded, closed, rawTrailers, trailers };
  const response = res && {
    headersSent: res.headersSent,
    writableEnded: res.writableEnded,
    writableFinished: res.writableFinished,
    destroyed: res.destroyed,
    closed: res.closed,
    socket: res.socket === null,
  };
  return JSON.stringify({ request, response });
}

/** An error of the parser, as 'clientError' gives it. */
export function describeError(error) {
  const { code, message, reason, bytesParsed, rawPacket } = error;
  const packet = rawPacket?.toString('latin1');
  return JSON.stringify({ code, message, reason, bytesParsed, packet });
}

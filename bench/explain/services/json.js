// Reads a document from its text, changes it, and writes it again, for each request.
import { createServer } from 'node:http';

const item = (id) => ({ id, name: `item ${id}`, tags: ['a', 'b', 'c'], price: id * 1.5 });
const text = JSON.stringify({ items: Array.from({ length: 1500 }, (_, id) => item(id)) });

function render() {
  const document = JSON.parse(text);
  for (const item of document.items) item.price *= 2;
  return JSON.stringify(document.items.slice(0, 100)) + JSON.stringify(document).length;
}

const cached = process.env.REMEDY === '1' ? render() : null;

const server = createServer((_request, response) => {
  response.end(cached ?? render());
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

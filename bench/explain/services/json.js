// Reads a document from its text, changes it, and writes it again, for each request.
import { createServer } from 'node:http';

const item = (id) => ({ id, name: `item ${id}`, tags: ['a', 'b', 'c'], price: id * 1.5 });
const text = JSON.stringify({ items: Array.from({ length: 1500 }, (_, id) => item(id)) });

function render() {
  const document = JSON.parse(text);
  for (const item of document.items) item.price += 1;
  return JSON.stringify(document);
}

const server = createServer((_request, response) => {
  response.end(render());
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

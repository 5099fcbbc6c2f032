// Adds its routes again whenever the settings are read, after every 20 requests, and never takes the old ones out.
// What none of them matches gets the page. Express.
import { createServer } from 'node:http';
import express from 'express';

const once = process.env.REMEDY === '1';
const app = express();
let requests = 0;

function addRoutes() {
  for (const name of ['a', 'b', 'c', 'd']) {
    app.get(`/${name}/:id`, (_request, response) => response.send(name));
  }
}
addRoutes();

const server = createServer((request, response) => {
  if (++requests % 20 === 0 && !once) addRoutes();
  app(request, response, () => response.end('done\n'));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');

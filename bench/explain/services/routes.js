// Adds its routes again whenever the settings are read, after every 20 requests, and never takes the old ones out. Express.
import express from 'express';

const once = process.env.REMEDY === '1';
const app = express();
let requests = 0;

const addRoutes = () => {
  for (const name of ['a', 'b', 'c', 'd'])
    app.get(`/${name}/:id`, (_, response) => response.send(name));
};
app.use((_request, _response, next) => {
  if (++requests % 20 === 0 && !once) addRoutes();
  next();
});
app.use((request, response, next) => {
  // The page itself is found at the very end, behind all that was added.
  setImmediate(() => (request.url === '/' ? next() : response.sendStatus(404)));
});
addRoutes();
app.use((_request, response) => {
  response.send('done\n');
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');

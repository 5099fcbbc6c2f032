// The state of devices in MongoDB, whose answers take 10 ms; the driver may open three connections.
'use strict';
const express = require('express');
const { MongoClient } = require('mongodb');

const maxPoolSize = process.env.FIX === '1' ? 40 : 3;

async function findDevice(devices, id) {
  const device = await devices.findOne({ _id: id });
  return { id, name: device.name, online: device.value % 2 === 0 };
}

async function main() {
  const { startDependency } = await import('../../../dependencies/start.js');
  const port = await startDependency('mongodb', { ms: 10 });
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    maxPoolSize,
  });
  await client.connect();
  const devices = client.db('home').collection('devices');

  const app = express();
  app.get('/devices/:id', async (request, response) => {
    response.json(await findDevice(devices, Number(request.params.id)));
  });
  app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
}
main();

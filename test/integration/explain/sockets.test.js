// The sockets of a server, from outside.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import {
  begin,
  census,
  listen,
  looks,
  node,
  now,
  open,
  until,
  watch,
} from '../../fixtures/explain/observed-processes.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const timeout = 180_000;
const has = (program) => spawnSync('which', [program]).status === 0;
const hasIPv6 = networkInterfaces().lo?.some(({ address }) => address === '::1');

describe('samples of sockets', { skip, timeout }, () => {
  const SERVER = `
    const server = require('net').createServer({ pauseOnConnect: true });
    server.listen(0, process.env.HOST, () => process.send(server.address().port));`;

  test('bytes that a server does not read are found at its connections', async () => {
    const child = await node(SERVER, { env: { HOST: '127.0.0.1' } });
    const port = child.message;
    const clients = await open(4, port);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    for (const client of clients.slice(0, 3)) client.write('request');
    const { server, client } = await until(async () => {
      const seen = await looks(counting);
      return seen.server.unread === 0.75 && seen;
    });
    assert.deepEqual(server, { sockets: 4, min: 4, max: 4, unread: 0.75, unsent: 0 });
    assert.deepEqual(client, { sockets: 4, min: 4, max: 4, unread: 0, unsent: 0 });
    // More than the buffers of both sides hold.
    clients[0].write(Buffer.alloc(64 * 1024 * 1024));
    await until(async () => (await looks(counting)).client.unsent === 0.25);
  });

  test('bytes that this process does not read are found', async () => {
    const child = await node(`
      const server = require('net').createServer((socket) => socket.write('response'));
      server.listen(0, '127.0.0.1', () => process.send(server.address().port));`);
    const port = child.message;
    const clients = begin(2, port, '127.0.0.1');
    clients[0].resume();
    clients[1].pause();
    const counting = census({ pid: null, endpoint: { host: 'localhost', port } });
    // The first one reads as soon as it comes to that.
    const { client } = await until(async () => {
      const seen = await looks(counting);
      return seen.client.unread === 0.5 && seen;
    });
    assert.deepEqual(client, { sockets: 2, min: 2, max: 2, unread: 0.5, unsent: 0 });
  });

  test('IPv4 over an IPv6 socket counts as IPv4', { skip: !hasIPv6 && 'needs IPv6' }, async () => {
    const child = await node(SERVER, { env: { HOST: '::' } });
    const port = child.message;
    await open(2, port, '127.0.0.1');
    await open(1, port, '::1');
    for (const [host, sockets] of [
      ['127.0.0.1', 2],
      ['::1', 1],
      ['[::1]', 1],
      ['localhost', 3],
    ]) {
      const counting = census({ pid: child.pid, endpoint: { host, port } });
      const { server, client, listen } = await until(async () => {
        const seen = await looks(counting);
        return seen.server.min === sockets && seen;
      });
      assert.equal(server.max, sockets, host);
      assert.equal(client.sockets, sockets, host);
      assert.equal(listen.waiting, 0, host);
    }
  });

  test('connections that wait for a blocked loop are found, and overflows', async () => {
    const child = await node(`
      const { readSync } = require('fs');
      const server = require('net').createServer((socket) => socket.resume());
      server.listen({ port: 0, host: '127.0.0.1', backlog: 2 }, () => process.send(server.address().port));
      process.once('message', () => readSync(0, Buffer.alloc(1)));`);
    const port = child.message;
    const watching = watch(child.pid);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    const fromMs = now();
    const before = (await looks(counting)).listen;
    assert.equal(before.waiting, 0);
    child.send('block');
    begin(10, port, '127.0.0.1');
    const { listen, server } = await until(async () => {
      const seen = await looks(counting);
      return seen.listen.waiting > 2 && seen;
    });
    // The kernel lets one more wait than the bound.
    assert.equal(listen.waiting, 3);
    if (has('ss')) await until(async () => (await looks(counting)).listen.backlog === 2);
    assert.equal(server.sockets, 0);
    const view = await until(() => {
      const seen = watching.between(fromMs, now());
      return seen.network.listenOverflows > 0 && seen;
    });
    assert.ok(view.network.sentSegments > 0);
    await until(() => watching.between(fromMs, now()).network.synRetransmitted > 0);
    child.stdin.write('x');
    await until(async () => (await looks(counting)).server.sockets >= 3);
  });

  test('connections that the server opened are counted by peer', async () => {
    const held = [];
    const slow = await listen(
      createServer((socket) => held.push(socket)),
      0,
      '127.0.0.1',
    );
    const other = await listen(
      createServer((socket) => held.push(socket)),
      0,
      '127.0.0.1',
    );
    const child = await node(
      `const http = require('http');
       const agent = new http.Agent({ maxSockets: 5 });
       for (let i = 0; i < 20; i++) http.get({ port: ${slow}, host: '127.0.0.1', agent }).on('error', () => {});
       http.get({ port: ${other}, host: '127.0.0.1', agent: false }).on('error', () => {});
       const [server, second] = [http.createServer(), http.createServer()];
       server.listen(0, '127.0.0.1', () => second.listen(0, '127.0.0.1', () => {
         process.send([server, second].map((each) => each.address().port));
       }));`,
    );
    const [port, second] = child.message;
    await until(() => held.length === 6);
    await open(3, port);
    // Those that came to another port of the server were not opened by it.
    await open(4, second);
    // This process has opened connections too: they are not the server's.
    await open(2, slow);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    const { outbound, server } = await until(async () => {
      const seen = await looks(counting);
      return seen.server.min === 3 && seen;
    });
    assert.equal(server.max, 3);
    assert.deepEqual(
      outbound.map(({ peer, sockets, min, max }) => ({ peer, sockets, min, max })),
      [
        { peer: `127.0.0.1:${slow}`, sockets: 5, min: 5, max: 5 },
        { peer: `127.0.0.1:${other}`, sockets: 1, min: 1, max: 1 },
      ],
    );
    for (const socket of held.splice(0)) socket.destroy();
  });

  test('other connections of a server behind a Unix socket are counted', async () => {
    const port = await listen(
      createServer(() => {}),
      0,
      '127.0.0.1',
    );
    const child = await node(`
      const socket = require('net').connect(${port}, '127.0.0.1', () => process.send(1));`);
    const seen = await looks(census({ pid: child.pid, endpoint: null }));
    assert.equal(seen.listen, null);
    assert.equal(seen.server.sockets + seen.client.sockets, 0);
    assert.deepEqual(
      seen.outbound.map(({ peer }) => peer),
      [`127.0.0.1:${port}`],
    );
  });

  test('missing samples are reported as such', async () => {
    const counting = census({ pid: process.pid, endpoint: { host: '127.0.0.1', port: 1 } });
    const seen = counting.between(-1000, -500);
    assert.deepEqual(
      { ...seen, outbound: [], localPorts: 0 },
      {
        samples: 0,
        server: { sockets: 0, min: 0, max: 0, unread: 0, unsent: 0 },
        client: { sockets: 0, min: 0, max: 0, unread: 0, unsent: 0 },
        listen: null,
        outbound: [],
        timeWait: 0,
        localPorts: 0,
      },
    );
  });
});

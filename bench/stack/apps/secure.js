// A server with TLS: `https`, or `http2` with the compatibility API of node:http2. Answers as the second argument says.
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import { announce } from './announce.js';

const [protocol, what, ...rest] = process.argv.slice(2);
const [cert, key] = rest.slice(-2).map((file) => readFileSync(file));

function sayHello(_request, response) {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('hello world\n');
}

function createDownload() {
  const body = Buffer.alloc(Number(rest[0]), 'x');
  const fields = { 'Content-Type': 'text/plain', 'Content-Length': body.length };
  return (_request, response) => {
    response.writeHead(200, fields);
    response.end(body);
  };
}

function countUpload(request, response) {
  let bytes = 0;
  request.on('data', (chunk) => {
    bytes += chunk.length;
  });
  request.on('end', () => response.end(`${bytes}\n`));
}

async function createExpress() {
  const { default: express } = await import('express');
  return express().get('/', (_request, response) => {
    response.send('hello world\n');
  });
}

const listeners = {
  hello: () => sayHello,
  download: createDownload,
  upload: () => countUpload,
  express: createExpress,
};
const create = protocol === 'http2' ? createSecureServer : createServer;
announce(create({ cert, key }, await listeners[what]()).listen(0, '127.0.0.1'));

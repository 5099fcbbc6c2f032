// The cases of the suite `apps`: applications of frameworks, plain and under the stack. As in ../stack/cases.js, but
//   load.args        the arguments of the application
//   load.client      the program that makes the requests, if it is not millrace
//   barsOn           requirements on one major version of Node.js
//   packages         the packages whose versions are told
// All have these bars on Node 26: CPU per request, and memory.
const LEAST = 1.05;

const application = (name, question, { atLeast = LEAST, bars = [], tools = [], ...rest }) => ({
  kind: 'application',
  name,
  question,
  tools: ['node', 'millrace', ...tools],
  baseline: 'node',
  barsOn: {
    26: [
      { than: 'node', metric: 'requestsPerCpuSecond', atLeast },
      { than: 'node', metric: 'residentKb', atMost: 1.15 },
      ...bars,
    ],
  },
  ...rest,
});

const served = (app, more) => ({ app: `apps/servers/${app}`, connections: 50, ...more });

const query = JSON.stringify({ query: '{ item(id: 1) { id name related { id name } } }' });
const graphql = (app) =>
  served(app, {
    target: '/graphql',
    body: query,
    headers: ['Content-Type: application/json', 'Accept: application/json'],
  });

export const apps = [
  application('express', 'Express 5, an answer in JSON?', {
    load: served('express'),
    atLeast: 2.3,
    packages: ['express'],
  }),
  application('express-mounted', 'The same in an application that is mounted in another?', {
    load: served('express-mounted', { args: [1] }),
    atLeast: 1.8,
    packages: ['express'],
  }),
  application('express-mounted-2', 'And in one that is mounted in that?', {
    load: served('express-mounted', { args: [2] }),
    packages: ['express'],
  }),
  application(
    'express-middlewares',
    'The same with twelve middlewares: does the stack save as much time per request as without?',
    {
      load: served('express-middlewares'),
      loads: {
        'node, flat': { tool: 'node', app: 'apps/servers/express' },
        'millrace, flat': { tool: 'millrace', app: 'apps/servers/express' },
      },
      tools: ['node, flat', 'millrace, flat'],
      bars: [{ saved: ['node', 'millrace'], than: ['node, flat', 'millrace, flat'], atLeast: 1 }],
      packages: ['express', 'helmet', 'express-session', 'morgan'],
    },
  ),
  application('nest-express', 'Nest on Express, a controller with a parameter?', {
    load: served('nest', { args: ['express'], target: '/items/7' }),
    packages: ['@nestjs/core', '@nestjs/platform-express'],
  }),
  application('nest-fastify', 'The same on Fastify?', {
    load: served('nest', { args: ['fastify'], target: '/items/7' }),
    packages: ['@nestjs/core', '@nestjs/platform-fastify'],
  }),
  application('next', 'Next, a page that is rendered for each request (production build)?', {
    load: served('next'),
    packages: ['next', 'react'],
  }),
  application('fastify-plugins', 'Fastify 5 with seven plugins?', {
    load: served('fastify-plugins'),
    packages: ['fastify'],
  }),
  application('apollo', 'Apollo Server, a query of three objects?', {
    load: graphql('apollo'),
    packages: ['@apollo/server', 'graphql'],
  }),
  application('yoga', 'GraphQL Yoga, the same query?', {
    load: graphql('yoga'),
    packages: ['graphql-yoga', 'graphql'],
  }),
  application('socket-io', 'Socket.IO by polling, a message and its acknowledgement?', {
    load: served('socket-io', { client: 'polling', connections: 30 }),
    packages: ['socket.io'],
  }),
];

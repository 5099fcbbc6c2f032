import { json, pause, request, scenario } from 'millrace/scenario';

const USERS = 'csv:examples/scenarios/users.csv';
const headers = { authorization: 'Bearer {{token}}' };

export default scenario('checkout', [
  request('log in', 'POST /login', {
    json: { user: `{{${USERS}:name}}`, password: `{{${USERS}:password}}` },
    save: { token: json('/token') },
  }),
  pause('50-100ms'),
  request('list', 'GET /items?page={{random:1-20}}', {
    headers,
    save: { first: json('/items/0/id') },
  }),
  request('buy', 'POST /orders', {
    headers,
    json: { item: '{{first}}', quantity: 1 },
    expect: { status: 201, json: { '/state': 'paid' }, within: '300ms' },
  }),
]);

import { json, pause, request, scenario, when } from 'millrace/scenario';

const USERS = 'csv:examples/scenarios/users.csv';
const headers = { authorization: 'Bearer {{token}}' };

export default scenario('checkout', [
  request('log in', 'POST /login', {
    json: { user: `{{${USERS}:name}}`, password: `{{${USERS}:password}}` },
    save: { token: json('/token') },
  }),
  pause('100ms'),
  request('list', 'GET /items?page={{random:1-20}}', {
    headers,
    save: { first: json('/items/0/id'), total: json('/total') },
  }),
  when('{{total}}', '>', 0, [
    request('buy', 'POST /orders', {
      headers,
      json: { item: '{{first}}', quantity: 1 },
      expect: { status: 201, json: { '/state': 'paid' } },
    }),
  ]),
]);

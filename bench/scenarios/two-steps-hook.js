// The flow of two steps for millrace, where JavaScript reads each second response.
import { json, request, scenario } from 'millrace/scenario';

export default scenario('two steps', [
  request('log in', 'GET /login', { save: { token: json('/token') } }),
  request('list', 'GET /items', {
    headers: { authorization: 'Bearer {{token}}' },
    expect: { json: { '/state': 'paid' } },
    after: (response, { variables }) => {
      variables.first = response.json().state;
    },
  }),
]);

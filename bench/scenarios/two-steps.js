// The flow of two steps for millrace: a token is saved and used, and the state is checked.
import { json, request, scenario } from 'millrace/scenario';

export default scenario('two steps', [
  request('log in', 'GET /login', { save: { token: json('/token') } }),
  request('list', 'GET /items', {
    headers: { authorization: 'Bearer {{token}}' },
    expect: { json: { '/state': 'paid' } },
  }),
]);

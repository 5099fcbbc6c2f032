// A user with cookies and three variables, who then waits, for millrace.
import { json, pause, request, scenario } from 'millrace/scenario';

export default scenario('cookies', [
  request('log in', 'GET /session', {
    save: { token: json('/token'), user: json('/user'), state: json('/state') },
  }),
  pause('100ms'),
  request('list', 'GET /items', {
    headers: { authorization: 'Bearer {{token}}', 'x-user': '{{user}}', 'x-state': '{{state}}' },
  }),
]);

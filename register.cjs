// `node --require millrace/register app.js`
require('./dist/http/stack.cjs').register();

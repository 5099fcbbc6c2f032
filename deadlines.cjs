// `node --require millrace/deadlines app.js`
try {
  module.exports = require('./dist/deadlines/index.js');
} catch (error) {
  if (error.code !== 'ERR_REQUIRE_ESM') throw error;
  throw new Error(
    'millrace/deadlines: --require needs Node.js 20.19 or 22.12 and later; with this one use: node --import millrace/deadlines',
  );
}

/** `node --require millrace/register app.js` */
export {};

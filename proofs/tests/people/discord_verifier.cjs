// Verifies requests, one line of JSON each, with Discord's own library: `true` or `false`.
const { verifyKey } = require(process.argv[2]);
const lines = require('node:readline').createInterface({ input: process.stdin });
(async () => {
  for await (const line of lines) {
    const { body, signature, timestamp, key } = JSON.parse(line);
    console.log(await verifyKey(Buffer.from(body), signature, timestamp, key));
  }
})();

// Reads messages, one line of JSON each, as Discord's clients read them, with a parser of their
// markdown: which kinds of parts there are, the blocks of code, the links, and all text.
const { parse } = require(process.argv[2]);
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const found = { kinds: [], code: [], links: [], text: '' };
  const walk = (part) => {
    if (Array.isArray(part)) return part.forEach(walk);
    found.kinds.push(part.type);
    if (part.type === 'codeBlock') found.code.push(part.content);
    else if (part.type === 'url') found.links.push(part.target);
    else if (part.type === 'br') found.text += '\n';
    else if (typeof part.content === 'string') found.text += part.content;
    else walk(part.content ?? []);
  };
  walk(parse(JSON.parse(line), 'normal'));
  console.log(JSON.stringify(found));
});

// Reads lines of JSON [text, n, m] and writes what the browser's module says of each.
import { createInterface } from "node:readline";

const { parse, write, dense, allows, rowPairs, pairs, keysKept, misfit, tiles } = await import(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const [text, n, m, size] = JSON.parse(line);
  let said;
  try {
    const pattern = parse(text), fault = misfit(pattern, n, m);
    if (fault !== null) said = { misfit: true };
    else {
      const mask = dense(pattern, n, m);
      said = {
        text: write(pattern), mask: mask.join(""), rows: rowPairs(pattern, n, m),
        pairs: String(pairs(pattern, n, m)), kept: String(keysKept(pattern)),
        corner: allows(pattern, m - 1, 0), tiles: n === m ? tiles(mask, n, size).join("") : null,
      };
    }
  } catch (error) {
    if (error.constructor.name !== "PatternError") throw error;
    said = { fault: error.message, at: error.at };
  }
  console.log(JSON.stringify(said));
}

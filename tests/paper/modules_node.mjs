// Reads lines of JSON [name, ...arguments] and writes what the functions of a module give.
import { createInterface } from "node:readline";

const module = await import(process.argv[2]);
const plain = (key, value) => (typeof value === "bigint" ? String(value) : ArrayBuffer.isView(value) ? [...value] : value);
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  let said;
  try { said = module[name](...given); }
  catch (error) { said = { fault: error.message, kind: error.constructor.name }; }
  console.log(JSON.stringify(said, plain));
}

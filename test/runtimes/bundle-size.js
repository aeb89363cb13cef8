import { gzipSync } from "node:zlib"
import { bundle } from "./bundle.js"

// `bundle-size.js SOURCE`: prints the size of the bundle of a module, in bytes, in total and by source file.

const { code, inputs } = await bundle({
  source: process.argv[2],
  conditions: ["edge-light", "workerd", "worker", "browser"],
  format: "esm",
})
const files = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
const sizes = Object.fromEntries(files.map(([path, { bytesInOutput }]) => [path, bytesInOutput]))
console.log(JSON.stringify({ minified: Buffer.byteLength(code), gzipped: gzipSync(code).length, sizes }))

import { gzipSync } from "node:zlib"
import { bundle } from "./bundle.js"

// `bundle-size.js SOURCE`: how large the bundle of a module is, in bytes, and what of which file is in it.

const { code, inputs } = await bundle({
  source: process.argv[2],
  conditions: ["edge-light", "workerd", "worker", "browser"],
  format: "esm",
})
const files = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
const sizes = Object.fromEntries(files.map(([path, { bytesInOutput }]) => [path, bytesInOutput]))
console.log(JSON.stringify({ minified: Buffer.byteLength(code), gzipped: gzipSync(code).length, sizes }))

#!/usr/bin/env node
import { readFileSync } from "node:fs"

// An older Node would fail in the middle, with a stack, or not even load what is imported: so this comes first.
const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const needed = Number.parseInt(engines.node.replace(/\D+/, ""), 10)
if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(`authwire: needs Node ${needed} or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
} else {
  const { main } = await import("../dist/cli/main.js")
  process.exitCode = await main(process.argv.slice(2), process.env)
}

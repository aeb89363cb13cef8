// Checks the Go module as a module proxy would serve it.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./packages.js"

const version = "v0.0.1"
const main = (module) => `package main

import (
	"fmt"

	authwirev1 "${module}/authwire/v1"
)

func main() {
	fmt.Println(authwirev1.UserService_ServiceDesc.ServiceName)
}
`

/** Vets gen/go, serves it from a folder as a GOPROXY, and builds another module that requires it. Throws on failure. */
export function checkGo(folder) {
  const source = join(root, "gen/go")
  const go = (args, cwd, env = {}) =>
    execFileSync("go", args, { cwd, env: { ...process.env, ...env }, encoding: "utf8" })
  go(["vet", "./..."], source)

  const text = readFileSync(join(source, "go.mod"), "utf8")
  const [, module] = /^module (\S+)$/m.exec(text)
  const proxy = join(folder, "proxy")
  const versions = join(proxy, module, "@v")
  mkdirSync(versions, { recursive: true })
  writeFileSync(join(versions, "list"), `${version}\n`)
  writeFileSync(join(versions, `${version}.info`), JSON.stringify({ Version: version, Time: "2026-01-01T00:00:00Z" }))
  writeFileSync(join(versions, `${version}.mod`), text)
  const zip = ["archive", "--format=zip", `--prefix=${module}@${version}/`, `--output=${versions}/${version}.zip`]
  execFileSync("git", [...zip, "HEAD:gen/go"], { cwd: root })

  const consumer = join(folder, "consumer")
  mkdirSync(consumer)
  writeFileSync(join(consumer, "go.mod"), `module example.com/consumer\n\ngo 1.25.0\n\nrequire ${module} ${version}\n`)
  writeFileSync(join(consumer, "main.go"), main(module))
  const { GOPROXY } = JSON.parse(go(["env", "-json", "GOPROXY"], consumer))
  // A separate cache. Otherwise Go could use another copy of the module from the shared cache.
  const env = { GOPROXY: `file://${proxy},${GOPROXY}`, GONOSUMDB: module, GOMODCACHE: join(folder, "cache") }
  try {
    go(["mod", "tidy"], consumer, env)
    const said = go(["run", "."], consumer, env).trim()
    if (said !== "authwire.v1.UserService") throw new Error(`the module of Go says ${said}`)
  } finally {
    go(["clean", "-modcache"], consumer, env)
  }
  console.log(`release: ${module}: vetted, and needed by another module`)
}

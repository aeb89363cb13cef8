import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import net from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { findEnvoy } from "@authwire/test-support/machine/gateways.js"
import { findProgram } from "@authwire/test-support/machine/tools.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"

/** A proxy that is configured by its example, between a client and an application. */
export interface Gateway {
  readonly url: string
  /** All output so far. */
  output(): string
  stop(): Promise<void>
}

/** The addresses and the key that replace those of the example. */
export interface Reach {
  authwire: Pick<ServerProcess, "grpcUrl" | "httpUrl">
  apiKey: string
  applicationPort: number
  /** Further changes of the example: each text must occur in it, and is replaced everywhere. */
  changes?: readonly (readonly [text: string, by: string])[]
}

export interface Kind {
  readonly name: string
  readonly program: string | undefined
  start(reach: Reach): Promise<Gateway>
}

const examples = fileURLToPath(new URL("../../examples", import.meta.url))

export const envoy: Kind = {
  name: "Envoy",
  program: findEnvoy(),
  async start({ authwire, apiKey, applicationPort, changes = [] }) {
    // Neither proxy reports which free port it was given.
    const port = await freePort()
    const folder = mkdtempSync(join(runFolder(), "envoy-"))
    const file = join(folder, "envoy.yaml")
    const text = changed(readFileSync(`${examples}/envoy/envoy.yaml`, "utf8"), [
      ["port_value: 8000", `port_value: ${port}`],
      ["port_value: 3000", `port_value: ${applicationPort}`],
      ["port_value: 50051", `port_value: ${new URL(authwire.grpcUrl).port}`],
      ["timeout: 1s", "timeout: 30s"],
      ...changes,
    ])
    writeFileSync(file, text)
    const args = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
    return started(spawn(envoy.program as string, args, { env: { AUTHWIRE_API_KEY: apiKey } }), port)
  },
}

export const nginx: Kind = {
  name: "nginx",
  program: findProgram("nginx"),
  async start({ authwire, apiKey, applicationPort, changes = [] }) {
    const port = await freePort()
    const folder = mkdtempSync(join(runFolder(), "nginx-"))
    // If started by root, its workers run as another user.
    chmodSync(folder, 0o755)
    cpSync(`${examples}/nginx`, folder, { recursive: true })
    const file = join(folder, "nginx.conf")
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(" ")
    const text = changed(readFileSync(file, "utf8"), [
      ["listen 127.0.0.1:8000", `listen 127.0.0.1:${port}`],
      ["127.0.0.1:3000", `127.0.0.1:${applicationPort}`],
      ["127.0.0.1:8080", new URL(authwire.httpUrl).host],
      ["http {", `http { ${temporary} access_log off;`],
      ...changes,
    ])
    writeFileSync(file, text)
    const authorize = join(folder, "authorize.conf")
    writeFileSync(authorize, changed(readFileSync(authorize, "utf8"), [["timeout 1s", "timeout 30s"]]))
    writeFileSync(join(folder, "api-key.conf"), `proxy_set_header x-api-key "${apiKey}";\n`)
    const main = `daemon off; pid ${folder}/nginx.pid; error_log stderr warn;`
    return started(spawn(nginx.program as string, ["-p", folder, "-c", file, "-g", main]), port)
  },
}

export const kinds: readonly Kind[] = [envoy, nginx]

function changed(text: string, changes: readonly (readonly [text: string, by: string])[]): string {
  return changes.reduce((result, [part, by]) => {
    if (!result.includes(part)) throw new Error(`the example has no ${part}`)
    return result.replaceAll(part, by)
  }, text)
}

async function started(child: ChildProcess, port: number): Promise<Gateway> {
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk
    })
  }
  const closed = once(child, "close")
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the proxy did not start:\n${output}`)
    return connects(port)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      child.kill("SIGTERM")
      await closed
    },
  }
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1")
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    socket.once("connect", () => socket.destroy())
  })
}

function runFolder(): string {
  const folder = process.env.AUTHWIRE_TEST_RUN_FOLDER
  if (folder === undefined) throw new Error("jest's global set-up did not run")
  return folder
}

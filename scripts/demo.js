// Starts, observes and ends the processes of the demo. Use scripts/demo to run it.
import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const authwire = fileURLToPath(new URL("../server/bin/authwire.js", import.meta.url))
const example = fileURLToPath(new URL("../examples/express/dist/main.js", import.meta.url))
const graceMs = 5000

const children = []
let ending = false

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => end(0))
if (!existsSync(example)) fail("it has not been built; run `make demo`")

const transports = await startAuthwire()
const addresses = await startExample(transports.grpc)
await Promise.all([
  answers(`http://${transports.http}/readyz`),
  answers(`${addresses.issuer}/.well-known/openid-configuration`),
  answers(addresses.mailboxUrl),
  answers(addresses.appUrl),
])
// A passkey does not work with an IP address.
const appUrl = addresses.appUrl.replace("127.0.0.1", "localhost")
console.log(`
Everything runs:

  the application     ${appUrl}
  its mails           ${addresses.mailboxUrl}
  its OIDC provider   ${addresses.issuer}
  Authwire            gRPC ${transports.grpc}, HTTP ${transports.http}

Open ${appUrl} and sign in, as somebody of the demo provider or with a link by e-mail.
Then ask Authwire who that was, after you signed in as Ada:

  curl http://${transports.http}/authwire.v1.UserService/GetUserByEmail \\
    -H 'content-type: application/json' -d '{"email": "ada@demo.example"}'

Ctrl-C ends all of it.
`)

/** Resolves to `{ grpc, http }`, the addresses of both listeners. */
async function startAuthwire() {
  const child = watched(
    "authwire",
    spawn(process.execPath, [authwire, "serve", "--dev"], { stdio: ["ignore", "pipe", 2] }),
  )
  const found = { grpc: "", http: "" }
  const lines = createInterface({ input: child.stdout })
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      // The hints of `serve --dev` are left out, because the demo prints its own ones when everything is running.
      if (line.startsWith("authwire: ")) console.log(line)
      const transport = /^authwire: (grpc|http) listener at (?:http:\/\/)?(\S+)$/.exec(line)
      if (transport) found[transport[1]] = transport[2]
      if (found.grpc && found.http) resolve(found)
    })
  })
}

async function startExample(grpcAddress) {
  const env = { ...process.env, AUTHWIRE_URL: `http://${grpcAddress}` }
  const child = watched("the example", fork(example, { env }))
  const [addresses] = await once(child, "message")
  return addresses
}

/** Waits until the URL answers with 200. The process behind it is already listening, so this takes a moment at most. */
async function answers(url) {
  const deadline = Date.now() + 20_000
  for (;;) {
    const status = await fetch(url).then((response) => response.status, String)
    if (status === 200 || ending) return
    if (Date.now() > deadline) return fail(`${url} does not answer: ${status}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/**
 * Ends the demo when this process exits by itself. The process has already printed the cause, such as a port that is in
 * use.
 */
function watched(name, child) {
  children.push(child)
  child.once("exit", (code, signal) => {
    if (ending) return
    console.error(`demo: ${name} has ended (${signal ?? `exit code ${code}`})`)
    end(1)
  })
  return child
}

function fail(message) {
  console.error(`demo: ${message}`)
  return end(1)
}

/** Ends all started processes in reverse order, then this process. */
async function end(code) {
  if (ending) return
  ending = true
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const exit = once(child, "exit")
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), graceMs)
    await exit
    clearTimeout(timer)
  }
  process.exit(code)
}

// In CommonJS, which every configuration of jest and vitest can load.
const { fork } = require("node:child_process")
const { createHash, randomBytes } = require("node:crypto")
const { once } = require("node:events")
const { join } = require("node:path")

/** Variables of the application under test that would change the service, above all the address of a real database. */
const foreign = /^(AUTHWIRE_|AUTH_|SERVICE_AUTH_|OTEL_|NODE_OPTIONS$)/

exports.startAuthwire = async function startAuthwire({ args = [], env = {}, scopes = ["all"] } = {}) {
  const id = randomBytes(8).toString("hex")
  const secret = randomBytes(32).toString("base64url")
  const key = { id, name: "test", scopes, secretSha256: createHash("sha256").update(secret).digest("hex") }
  const quiet = ["--log-level=warn", "--audit-log=off"]
  const addresses = ["--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"]
  const all = ["serve", "--migrate", ...quiet, ...addresses, ...args]
  const service = fork(join(__dirname, "process.js"), all, {
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
      NODE_NO_WARNINGS: "1",
      AUTHWIRE_DATABASE_URL: "sqlite::memory:",
      AUTHWIRE_API_KEYS: JSON.stringify([key]),
      AUTH_SECRET: randomBytes(32).toString("base64url"),
      ...env,
    },
  })
  const closed = once(service, "close")
  const { grpc, http } = await listening(service)
  // A test that forgets to stop the service still ends, and the service with it.
  for (const held of [service, service.channel, service.stdout, service.stderr]) held.unref()
  async function stop() {
    service.ref()
    service.kill()
    await closed
  }
  return {
    url: `http://${grpc}`,
    httpUrl: http,
    apiKey: `awk_${id}_${secret}`,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Resolves to the addresses that the service prints. Rejects with its output if it ends before. */
function listening(service) {
  return new Promise((resolve, reject) => {
    let output = ""
    let isListening = false
    service.stdout.on("data", (chunk) => {
      if (isListening) return
      output += chunk
      const grpc = /^authwire: grpc listener at (\S+)\n/m.exec(output)?.[1]
      const http = /^authwire: http listener at (\S+)\n/m.exec(output)?.[1]
      if (grpc === undefined || http === undefined) return
      isListening = true
      resolve({ grpc, http })
    })
    service.stderr.on("data", (chunk) => {
      if (isListening) process.stderr.write(chunk)
      else output += chunk
    })
    service.once("error", reject)
    service.once("close", () => reject(new Error(`authwire serve did not start: ${output}`)))
  })
}

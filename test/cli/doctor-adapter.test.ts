import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import {
  authority,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"
import { diagnoseService } from "../../server/src/doctor/service.js"

// What authwire doctor says about the options of the adapter: the command, and the check in this process.
const full = staticKey(["all"])
const limited = staticKey(["users:read", "users:write", "sessions:read"])

const authwire = useAuthwire("sqlite", { keys: [full, limited] })

const doctor = (env: Record<string, string>) =>
  run(["doctor"], { AUTHWIRE_DATABASE_URL: authwire.database.url, AUTH_SECRET: testSecret, ...env })

const diagnosed = async (url: string, apiKey?: string) =>
  (await diagnoseService({ url, apiKey })).map(({ state, what, detail }) => `${state} ${what}: ${detail}`)

const isGrpc = /^ok +url of the adapter:? +this is the gRPC address, /m

/** The check has written nothing. */
async function expectNothingWritten() {
  for (const table of ["users", "accounts", "sessions"]) {
    expect(await authwire.database.query(`SELECT COUNT(*) AS n FROM ${table}`)).toEqual([{ n: 0 }])
  }
}

test.concurrent("the command takes both from the environment, and never prints the key", async () => {
  for (const [key, found, exitCode] of [
    [full.text, /^ok +apiKey of the adapter +the key has every scope that the adapter needs$/m, 0],
    [full.text.slice(0, -3), /^wrong +apiKey of the adapter +the service rejects the key/m, 1],
  ] as const) {
    const { stdout, stderr, code } = await doctor({ AUTHWIRE_URL: authwire.server.grpcUrl, AUTHWIRE_API_KEY: key })
    expect(stdout).toMatch(isGrpc)
    expect(stdout).toMatch(found)
    expect(stdout + stderr).not.toContain("awk_")
    expect(code).toBe(exitCode)
  }
  await expectNothingWritten()
})

test.each<[string, () => [url: string, apiKey?: string], RegExp, RegExp]>([
  [
    "the HTTP address",
    () => [authwire.server.httpUrl, full.text],
    /^warning url of the adapter: this is the HTTP address, /,
    /^ok apiKey of the adapter: /,
  ],
  [
    "no key",
    () => [authwire.server.grpcUrl],
    isGrpc,
    /^wrong apiKey of the adapter: the service requires an API key: set AUTHWIRE_API_KEY$/,
  ],
  [
    "a key that may do little",
    () => [authwire.server.grpcUrl, limited.text],
    isGrpc,
    /^wrong .*the key lacks the scopes accounts:read, accounts:write, sessions:write, verification-tokens:write, auth/,
  ],
])("%s", async (_, options, url, key) => {
  const found = await diagnosed(...options())
  expect(found).toEqual([expect.stringMatching(url), expect.stringMatching(key)])
  expect(found.join()).not.toContain("awk_")
  await expectNothingWritten()
})

test.each([
  ["no URL", "127.0.0.1:50051", /^wrong url of the adapter: must begin with http/],
  ["a closed port", "http://127.0.0.1:1", /^wrong url of the adapter: no Authwire .*ECONNREFUSED/],
  ["dns:///, which only the client understands", "dns:///a.example.com:1", /^warning url .*dns:\/\/\/ is not checked/],
])("%s is reported", async (_, url, found) => {
  expect(await diagnosed(url)).toEqual([expect.stringMatching(found)])
})

test.concurrent("an untrusted authority is reported", async () => {
  const files = certificateFolder(serverCertificate())
  const secure = await startServer({ databaseUrl: authwire.database.url, args: files.args })
  const folder = mkdtempSync(join(tmpdir(), "authwire-doctor-"))
  const trusting = async ({ cert }: { cert: string }) => {
    writeFileSync(join(folder, "ca.crt"), cert)
    return doctor({ AUTHWIRE_URL: secure.grpcUrl, NODE_EXTRA_CA_CERTS: join(folder, "ca.crt") })
  }
  try {
    const wrong = await trusting(stranger)
    expect(wrong.stdout).toMatch(
      /^wrong +url of the adapter +the certificate is not trusted \([A-Z_]+\): set NODE_EXTRA_CA_CERTS/m,
    )
    expect(wrong.code).toBe(1)
    const right = await trusting(authority)
    expect(right.stdout).toMatch(isGrpc)
    expect(right.code).toBe(0)
  } finally {
    rmSync(folder, { recursive: true })
    files.remove()
    await secure.stop()
  }
})

// It waits twice for five seconds, while the other tests that run the command do.
test.concurrent("an address that accepts connections and never answers is found, and the command ends", async () => {
  const silent = createServer((socket) => socket.on("error", () => {}).resume())
  const port = await listen(silent)
  const { stdout, code } = await doctor({ AUTHWIRE_URL: `https://127.0.0.1:${port}` })
  expect(stdout).toMatch(/^wrong +url of the adapter +no Authwire answers at this address/m)
  expect(code).toBe(1)
  silent.close()
})

import { execFile } from "node:child_process"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { ways } from "./ask.js"
import { signedIn } from "./service.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = `${root}/examples/identity`
const buildFolder = `${root}/build/languages/identity`
const issuer = "https://authwire.example"

/** The examples that verify an assertion: how they are built, and run. */
const verifiers = [
  {
    name: "Go",
    tool: "go",
    build: ["go", "build", "-o", `${buildFolder}/verify`, "."],
    command: [`${buildFolder}/verify`],
  },
  {
    name: "Python",
    tool: "python3",
    build: [`${root}/scripts/languages/venv`, `${buildFolder}/python`, "requirements.txt"],
    command: [`${buildFolder}/python/bin/python`, "verify.py"],
  },
]

describe.each(verifiers)("the verifier in $name", ({ tool, build, command }) => {
  const authwire = useAuthwire("sqlite", { args: [`--identity-issuer=${issuer}`] })
  const run = hasTool(tool) ? test : test.skip

  beforeAll(async () => {
    if (!hasTool(tool)) return
    mkdirSync(buildFolder, { recursive: true })
    const [program = "", ...args] = build
    await promisify(execFile)(program, args, { cwd: folder })
  }, 10 * 60_000)

  /** Runs the example. Resolves to its claims, or undefined if it rejects the assertion. */
  async function verify(assertion: string, from = `${issuer}/default`, audience = "orders") {
    const [program = "", ...args] = command
    const url = `${authwire.server.httpUrl}/.well-known/jwks.json`
    const child = execFile(program, [...args, url, from, audience], { cwd: folder })
    child.stdin?.end(assertion)
    const [stdout, stderr] = await Promise.all([child.stdout?.toArray(), child.stderr?.toArray()])
    const text = stdout?.join("") ?? ""
    if (text === "") expect(stderr?.join("")).toMatch(/^verify: /)
    return text === "" ? undefined : JSON.parse(text)
  }

  run(
    "accepts an assertion by the address of the keys alone, and none that is another's, late or changed",
    async () => {
      const { headers, userId, told } = await signedIn(authwire.client)
      const settings = { identity: "jwt", audience: "orders" }
      const [way] = ways
      const answer = await way?.ask(authwire.server, authwire.server.apiKey, { headers, settings })
      const assertion = answer?.told["x-authwire-identity"] as string
      expect(await verify(assertion)).toMatchObject({ sub: userId, sid: told["x-auth-session-id"] })
      expect(await verify(assertion, `${issuer}/other`)).toBeUndefined()
      expect(await verify(assertion, issuer)).toBeUndefined()
      expect(await verify(assertion, undefined, "billing")).toBeUndefined()
      const [head, claims, signature] = assertion.split(".") as [string, string, string]
      const changed = JSON.parse(Buffer.from(claims, "base64url").toString())
      const other = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
      expect(await verify(`${head}.${other({ ...changed, sub: "root" })}.${signature}`)).toBeUndefined()
      expect(await verify(`${other({ alg: "none" })}.${claims}.`)).toBeUndefined()
    },
  )
})

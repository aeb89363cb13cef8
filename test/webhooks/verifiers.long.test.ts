import { execFile } from "node:child_process"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Received, type Receiver, startReceiver } from "./receiver.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = `${root}/test/webhooks/verifiers`
const buildFolder = `${root}/build/languages/webhooks`

/** Programs that verify a delivery with the library of Standard Webhooks: how they are built, and run. */
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

describe("a delivery of the service", () => {
  const authwire = useAuthwire("sqlite")
  let receiver: Receiver
  let delivery: Received
  let secrets: string[]

  beforeAll(async () => {
    receiver = await startReceiver()
    const { webhooks, users } = authwire.client
    const created = await webhooks.createWebhook({ name: "n", url: receiver.url, includeUser: true })
    const { secret } = await webhooks.rotateSecret({ id: created.webhook?.id as string })
    secrets = [secret, created.secret]
    await users.createUser({ name: "Zoë 🙂 </script>", email: "zoe@example.com" })
    await until(() => receiver.received.length === 1)
    delivery = receiver.received[0] as Received
  })
  afterAll(() => receiver?.close())

  describe.each(verifiers)("and the library of $name", ({ tool, build, command }) => {
    const run = hasTool(tool) ? test : test.skip

    beforeAll(async () => {
      if (!hasTool(tool)) return
      mkdirSync(buildFolder, { recursive: true })
      const [program = "", ...args] = build
      await promisify(execFile)(program, args, { cwd: folder })
    }, 10 * 60_000)

    /** Returns the body, or undefined if the library rejects the delivery. */
    async function verified(given: Received, secret: string): Promise<string | undefined> {
      const [program = "", ...args] = command
      const child = execFile(program, [...args, secret], { cwd: folder })
      child.stdin?.end(JSON.stringify({ headers: given.headers, text: given.text }))
      const [stdout, stderr] = await Promise.all([child.stdout?.toArray(), child.stderr?.toArray()])
      const text = stdout?.join("") ?? ""
      if (text === "") expect(stderr?.join("")).toMatch(/^verify: /)
      return text === "" ? undefined : text.trimEnd()
    }

    run("it is accepted with both secrets, and not with another one, changed, or late", async () => {
      for (const secret of secrets) expect(await verified(delivery, secret)).toBe(delivery.text)
      expect(await verified(delivery, `whsec_${Buffer.alloc(32).toString("base64")}`)).toBeUndefined()
      const changed = { ...delivery, text: delivery.text.replace("zoe@", "eve@") }
      const late = {
        ...delivery.headers,
        "webhook-timestamp": String(Number(delivery.headers["webhook-timestamp"]) - 600),
      }
      const other = { ...delivery.headers, "webhook-id": `${delivery.id}1` }
      for (const wrong of [changed, { ...delivery, headers: late }, { ...delivery, headers: other }])
        expect(await verified(wrong, secrets[0] as string)).toBeUndefined()
    })
  })
})

import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { oldNode } from "@authwire/test-support/machine/old-node.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"

const authwire = useAuthwire("sqlite")
const client = fileURLToPath(new URL("../../client/dist/index.js", import.meta.url))
const program = oldNode()

const source = `
import { createAuthwireClient } from ${JSON.stringify(client)}
const { adapter, users, events } = createAuthwireClient({ url: process.argv[1] })
const { id } = await adapter.createUser({ email: "ada@example.com", emailVerified: null })
await adapter.createSession({ sessionToken: "s", userId: id, expires: new Date(Date.now() + 60_000) })
const { user } = await adapter.getSessionAndUser("s")
for await (const { id } of users.list()) console.log(id === user.id)
for await (const { cursor } of events.watch()) {
  console.log(cursor !== "")
  break
}`

;(program === undefined ? test.skip : test)(
  "the client works on a Node older than those that it is tested with",
  async () => {
    const args = ["--input-type=module", "-e", source, authwire.server.grpcUrl]
    const { stdout, stderr } = await promisify(execFile)(program as string, args, { env: {} })
    expect({ stdout, stderr }).toEqual({ stdout: "true\ntrue\n", stderr: "" })
  },
)

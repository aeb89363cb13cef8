import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

test.each(["stdout", "stderr"] as const)("a closed reader of %s does not make a command fail", async (output) => {
  // The command writes its output on one stream, and an error on the other.
  const args = output === "stdout" ? ["--help"] : ["unknown"]
  const child = spawn(process.execPath, [command, ...args], { env: {}, stdio: ["ignore", "pipe", "pipe"] })
  child[output].destroy()
  const other = output === "stdout" ? child.stderr : child.stdout
  let text = ""
  other.on("data", (chunk: Buffer) => {
    text += chunk
  })
  const [code] = await once(child, "close")
  expect({ code, text }).toEqual({ code: output === "stdout" ? 0 : 2, text: "" })
})

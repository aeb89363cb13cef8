import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

test.each([
  // What the command prints is lost. The reader knows that it has gone, so it gets no message.
  { output: "stdout", args: ["--help"], code: 1 },
  { output: "stderr", args: ["unknown"], code: 2 },
] as const)(
  "a command whose reader of $output is gone ends with $code, and without a stack",
  async ({ output, args, code }) => {
    const child = spawn(process.execPath, [command, ...args], { env: {}, stdio: ["ignore", "pipe", "pipe"] })
    child[output].destroy()
    const other = output === "stdout" ? child.stderr : child.stdout
    let text = ""
    other.on("data", (chunk: Buffer) => {
      text += chunk
    })
    const [exitCode] = await once(child, "close")
    expect({ exitCode, text }).toEqual({ exitCode: code, text: "" })
  },
)

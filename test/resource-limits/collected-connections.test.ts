import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { expect, test } from "@jest/globals"

// Without `outliveStreams` the process ends with an assertion of Node 24: (current_nghttp2_memory_) == (0).
test("a connection that is garbage-collected before its streams does not end the process, and is not leaked", async () => {
  const script = "test/support/connections/collected-connections.ts"
  const child = spawn(process.execPath, ["--expose-gc", script], { stdio: ["ignore", "ignore", "pipe"] })
  const [error, [code]] = await Promise.all([text(child.stderr), once(child, "exit")])
  expect({ code, error }).toEqual({ code: 0, error: "" })
})

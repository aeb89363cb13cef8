// Runs commands of `authwire` for the tests of one run, all in this process, because a process of its own takes longer
// than most commands. global-setup.js starts it and waits for its message; `run` asks it. The argument is its socket. No
// command that asks for input can run here.

import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { execute } from "../../../server/dist/cli/main.js"

// Each log of a command is closed when the process exits.
process.setMaxListeners(0)

createServer(async (request, response) => {
  const { args, environment } = JSON.parse(await text(request))
  let stdout = ""
  let stderr = ""
  const output = {
    async print(words: string) {
      stdout += words
    },
    say(words: string) {
      stderr += words
    },
    async printed() {},
  }
  // Node ends a process with 1 and the stack if an error is not handled.
  const code = await execute(args, environment, output).catch((error: Error) => {
    stderr += error.stack
    return 1
  })
  response.end(JSON.stringify({ code, stdout, stderr }))
}).listen(process.argv[2], () => process.send?.("listening"))

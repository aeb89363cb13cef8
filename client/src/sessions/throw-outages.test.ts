import { Auth, type AuthConfig } from "@auth/core"
import { expect, test } from "@jest/globals"
import { throwOutages } from "./throw-outages.js"

/** Returns what Auth.js logs for a request with an unknown action. */
async function logOf(change: (config: AuthConfig) => AuthConfig): Promise<string[]> {
  const lines: string[] = []
  class Logger {
    error(this: Logger, error: Error) {
      lines.push(error.name)
      this.warn("from error")
    }
    warn(code: string) {
      lines.push(code)
    }
    debug(message: string) {
      lines.push(message)
    }
  }
  const logger = new Logger() as AuthConfig["logger"] & {}
  const config = { providers: [], secret: "x", trustHost: true, debug: true, logger }
  await Auth(new Request("http://localhost/auth/unknown"), change(config))
  return lines
}

test("every method of an application's logger is called as Auth.js calls it, also of an instance of a class", async () => {
  const lines = await logOf((config) => config)
  expect(lines).toEqual(["UnknownAction", "from error", "request"])
  expect(await logOf(throwOutages)).toEqual(lines)
})

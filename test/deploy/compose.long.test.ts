import { mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { check, hasDeployTools } from "@authwire/test-support/machine/deploy.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

describe("deploy/make-env", () => {
  let file: string
  let variables: Record<string, string | undefined>
  beforeAll(async () => {
    file = join(mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "env-")), ".env")
    expect(await check("deploy/make-env", [file])).toEqual({ code: 0, output: `wrote ${file}\n` })
    variables = parseEnv(readFileSync(file, "utf8"))
  })

  test("the service accepts its key, and no other", async () => {
    const { AUTH_SECRET = "", AUTHWIRE_API_KEYS = "", AUTHWIRE_API_KEY = "" } = variables
    const database = await createDatabase("sqlite")
    const env = { AUTH_SECRET, AUTHWIRE_API_KEYS }
    const server = await startServer({ databaseUrl: database.url, keys: false, env })
    const client = (apiKey: string) => createAuthwireClient({ url: server.grpcUrl, apiKey })
    const right = client(AUTHWIRE_API_KEY)
    const wrong = client(`${AUTHWIRE_API_KEY}x`)
    try {
      expect(await right.adapter.getUserByEmail("ada@example.com")).toBeNull()
      await expect(wrong.adapter.getUserByEmail("ada@example.com")).rejects.toMatchObject({ reason: "API_KEY_INVALID" })
    } finally {
      right.close()
      wrong.close()
      await server.stop()
      await database.drop()
    }
  })

  test("existing variables are kept", async () => {
    const before = readFileSync(file, "utf8")
    expect(await check("deploy/make-env", [file])).toMatchObject({ code: 0 })
    expect(readFileSync(file, "utf8")).toBe(before)
  })

  const withTools = hasDeployTools() ? test : test.skip
  withTools("compose.yaml is valid, and requires exactly these secrets", async () => {
    const args = ["deploy/compose.yaml"]
    const { code, output } = await check("compose-check", args, { env: variables })
    expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" })
    const { services } = JSON.parse(output)
    expect(services.authwire.environment.AUTHWIRE_API_KEYS).toBe(variables.AUTHWIRE_API_KEYS)
    expect(services.app.environment.AUTHWIRE_API_KEY).toBe(variables.AUTHWIRE_API_KEY)
    expect(services.authwire.environment.AUTHWIRE_DATABASE_URL).toContain(services.database.environment.MYSQL_PASSWORD)
    for (const name of Object.keys(variables)) {
      const without = await check("compose-check", args, { env: { ...variables, [name]: undefined } })
      expect(without.output).toContain(`required variable ${name} is missing`)
    }
  })
})

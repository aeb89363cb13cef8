import { readFileSync } from "node:fs"
import { createDatabase, serviceServer } from "@authwire/test-support/databases/databases.js"
import { check, hasDeployTools, root } from "@authwire/test-support/machine/deploy.js"
import { hasMountNamespaces } from "@authwire/test-support/machine/small-disk.js"
import { describe, expect, test } from "@jest/globals"

const dockerfile = readFileSync(`${root}/deploy/Dockerfile`, "utf8")

test("the image has the Node version of package.json", () => {
  const { devDependencies } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"))
  expect(/^ARG NODE_IMAGE=node:([\d.]+)-/m.exec(dockerfile)?.[1]).toBe(devDependencies.node)
})

const withTools = hasDeployTools() ? describe : describe.skip
withTools("deploy/Dockerfile", () => {
  test("passes the linter of Dockerfiles", async () => {
    const lint = `${root}/scripts/deploy/node_modules/.bin/dockerfile-utils`
    expect(await check(lint, ["lint", "deploy/Dockerfile"])).toEqual({ code: 0, output: "" })
    expect(await check(lint, ["lint", "deploy/nextjs.Dockerfile"])).toEqual({ code: 0, output: "" })
  })

  // It needs a database server, because SQLite needs a file, and the image cannot write any.
  const target = serviceServer()
  const onServer = hasMountNamespaces() && target !== undefined ? test : test.skip

  onServer(
    "built and run without a container engine, read-only and as its user, it migrates, serves, is healthy and stops",
    async () => {
      const database = await createDatabase(target ?? "mysql")
      try {
        const { code, output } = await check(process.execPath, ["scripts/deploy/try-image.js"], {
          env: { AUTHWIRE_DATABASE_URL: database.url },
        })
        expect(output).toMatch(
          /^nothing of it is for development only\nruns as user 1000, who can write nothing\nmigrate up: \d+ migrations\nwithout a service the health check fails\nserves at 127\.0\.0\.1:\d+\nhealthy\nstopped with 0$/m,
        )
        expect(code).toBe(0)
      } finally {
        await database.drop()
      }
    },
    600_000,
  )
})

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { check, hasSystemdAnalyze, root } from "@authwire/test-support/machine/deploy.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

const text = readFileSync(`${root}/deploy/systemd/authwire@.service`, "utf8")

test("the unit is ordered after the unit of each database server, so that it also ends before that server", () => {
  const after = /^After=(.*)$/m.exec(text)?.[1]?.split(" ")
  expect(after).toEqual(expect.arrayContaining(["mysql.service", "mariadb.service", "postgresql.service"]))
})

const withSystemd = hasSystemdAnalyze() ? describe : describe.skip
withSystemd("deploy/systemd/authwire@.service", () => {
  let file: string
  beforeAll(() => {
    file = join(mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "unit-")), "authwire@.service")
  })
  /** Writes the unit, with the path of the command in this repository. */
  const write = (unit: string) => {
    writeFileSync(file, unit.replaceAll("=authwire ", `=${root}/server/bin/authwire.js `))
  }

  test("systemd accepts every line", async () => {
    write(text)
    expect(await check("systemd-analyze", ["verify", "--man=no", file])).toEqual({ code: 0, output: "" })
    write(text.replace("ProtectSystem=strict", "ProtectSystem=strictly"))
    expect((await check("systemd-analyze", ["verify", "--man=no", file])).output).toContain("protect system")
  })

  test("systemd accepts the settings of the first hour in production, which replace its own", async () => {
    const page = readFileSync(`${root}/docs/first-hour-in-production.md`, "utf8")
    const [, settings = ""] = /production\.conf <<'END'\n([\s\S]*?)^END$/m.exec(page) ?? []
    expect(settings).toMatch(/^\[Service\]\n/)
    write(text)
    mkdirSync(`${file}.d`)
    const verified = (more: string) => {
      writeFileSync(`${file}.d/production.conf`, settings + more)
      return check("systemd-analyze", ["verify", "--man=no", file])
    }
    expect(await verified("")).toEqual({ code: 0, output: "" })
    expect((await verified("LoadCredentials=a:/b\n")).output).toContain("LoadCredentials")
    rmSync(`${file}.d`, { recursive: true })
  })

  test("its exposure is among the lowest possible for a network service", async () => {
    const exposure = async (unit: string) => {
      write(unit)
      return check("systemd-analyze", ["security", "--no-pager", "--offline=true", "--threshold=15", file])
    }
    expect(await exposure(text)).toMatchObject({ code: 0 })
    expect(await exposure(text.replace("CapabilityBoundingSet=\n", ""))).toMatchObject({ code: 1 })
  })
})

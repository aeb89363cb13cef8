import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describeServer, serviceServer } from "@authwire/test-support/databases/databases.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { expect, jest, test } from "@jest/globals"
import { check } from "../../server/src/import/check.js"
import { checkpoint } from "../../server/src/import/checkpoint.js"
import { copy } from "../../server/src/import/copy.js"
import { readMapping } from "../../server/src/import/peer/mapping.js"
import { openSource } from "../../server/src/import/peer/open.js"
import { peerOrigin } from "../../server/src/import/peer/origin.js"
import { bulk, createCipher, keyFromSecret, openDatabase } from "../../server/src/store/sql/index.js"
import { fillForeignTables, importCase, tokenOf } from "./foreign-tables.js"

/**
 * Pages have a thousand rows: with `many` people some pages change and others do not, and `some` people fill two pages.
 */
const many = 4000
const some = 1200

// Every test runs the command several times.
jest.setTimeout(180_000)

describeServer(
  "authwire import --checkpoint",
  (target) => {
    const at = importCase(target)
    const { count } = at
    const checkpointFile = () => join(at.folder, "checkpoint")
    const authwire = (...args: string[]) => at.authwire(`--checkpoint=${checkpointFile()}`, ...args)
    /** The number of rows that a run found unchanged since the previous run. */
    const unchanged = (stderr: string) => Number(/^--checkpoint: (\d+) of/m.exec(stderr)?.[1])

    test("a run with a checkpoint copies the rows that have changed since, and reads no other rows", async () => {
      await fillForeignTables(at.source, 0, many)
      const first = await authwire("--apply")
      expect(first.stderr).toBe("every row was compared: source and target are equal\n")
      const again = await authwire("--apply", "--delete")
      expect(again.stdout).toMatch(/^users +0 +0 +0$/m)
      expect(unchanged(again.stderr)).toBe(3 * many)
      expect(again.code).toBe(0)

      await fillForeignTables(at.source, many, many + 10)
      await at.source.query("UPDATE people SET name = 'Changed' WHERE person_id = 5")
      await at.source.query("UPDATE people SET email = 'none' WHERE person_id = 20")
      await at.source.query("UPDATE people SET email = 'person.20@example.com' WHERE person_id = 2010")
      await at.source.query("UPDATE people SET email = 'person.2010@example.com' WHERE person_id = 20")
      for (const table of ["cookies WHERE user_id", "logins WHERE user_id", "people WHERE person_id"]) {
        await at.source.query(`DELETE FROM ${table} = 3`)
      }
      const more = await authwire("--apply", "--delete")
      expect(more.stdout).toMatch(/^users +10 +3 +1$/m)
      expect(more.stdout).toMatch(/^accounts +10 +0 +1$/m)
      expect(more.stdout).toMatch(/^sessions +10 +0 +1$/m)
      expect(more.stderr).toMatch(/^every row was compared: source and target are equal$/m)
      expect(more.code).toBe(0)
      // A few pages of a thousand rows have changed in users and in accounts, and the pages of sessions with a new one.
      expect(unchanged(more.stderr)).toBeGreaterThanOrEqual(many - 1000)
      expect(unchanged(more.stderr)).toBeLessThan(3 * many)
      for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(many + 9)
      expect(await count("users", "email = 'person.20@example.com' AND id = '2010'")).toBe(1)
    })

    test("a row whose user was deleted is found, although its own page is unchanged", async () => {
      await fillForeignTables(at.source, 0, some)
      await authwire("--apply")
      await at.source.query("DELETE FROM people WHERE person_id = 3")
      const { stdout, code } = await authwire("--apply", "--delete")
      expect(stdout).toMatch(/^warning +1 +accounts +orphan/m)
      expect(stdout).toMatch(/^warning +1 +sessions +orphan/m)
      expect(code).toBe(0)
      for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(some - 1)
    })

    test("rows with errors are found again, and so is a row that conflicts with one of an unchanged page", async () => {
      await fillForeignTables(at.source, 0, many)
      await at.source.query("UPDATE logins SET type = 'credentials' WHERE login_id = 6")
      expect((await authwire("--apply", "--skip")).code).toBe(0)
      const again = await authwire("--apply", "--skip", "--delete")
      expect(again.stdout).toMatch(/^error +1 +accounts +invalid/m)
      expect(unchanged(again.stderr)).toBe(3 * many - 1000)

      await at.source.query("INSERT INTO people VALUES (?, ' PERSON.1@example.com', NULL, 'Second', 'free')", [many])
      const met = await authwire("--apply", "--skip", "--delete")
      expect(met.stdout).toMatch(/^address-collision +user 4000 /m)
      expect(met.stdout).toMatch(/^users +0 +0 +0$/m)
      expect(met.code).toBe(0)
      expect(await count("users")).toBe(many)
    })

    test("a skipped row stays in Authwire, and is deleted when the source no longer has it", async () => {
      await fillForeignTables(at.source, 0, some)
      await authwire("--apply")
      await at.source.query("UPDATE logins SET type = 'credentials'")
      for (const kept of [some, some - 1]) {
        const { stdout, code } = await authwire("--apply", "--skip", "--delete")
        expect(stdout).toMatch(new RegExp(`^accounts +0 +0 +${some - kept}$`, "m"))
        expect(code).toBe(0)
        expect(await count("accounts")).toBe(kept)
        await at.source.query("DELETE FROM logins WHERE user_id = 3")
      }
    })

    test("rows that only Authwire has are deleted by a later run with that option", async () => {
      await fillForeignTables(at.source, 0, some)
      await at.database.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'of Authwire alone', '{}')")
      const kept = await authwire("--apply")
      expect(kept.stdout).toMatch(/^users +0 +0 +1$/m)
      expect(kept.code).toBe(1)
      const deleted = await authwire("--apply", "--delete")
      expect(unchanged(deleted.stderr)).toBe(3 * some)
      expect(deleted.stdout).toMatch(/^users +0 +0 +1$/m)
      expect(deleted.code).toBe(0)
      expect(await count("users")).toBe(some)
    })

    test.each([
      ["has changed a row", "UPDATE users SET name = 'Changed' WHERE id = '7'", /^users +0 +1 +0$/m],
      ["has deleted a row", "DELETE FROM accounts WHERE provider_account_id = 'g7'", /^accounts +1 +0 +0$/m],
    ])("when something else %s in Authwire, everything is compared", async (_, statement, report) => {
      await fillForeignTables(at.source, 0, some)
      await authwire("--apply")
      await at.database.query(statement)
      const { stdout, stderr, code } = await authwire("--apply")
      expect(stderr).toMatch(
        /^--checkpoint: the file does not match the databases any more, so all rows are compared$/m,
      )
      expect(stdout).toMatch(report)
      expect(code).toBe(0)
      expect(unchanged((await authwire("--apply")).stderr)).toBe(3 * some)
    })

    test("changes in Authwire after the comparison of a page are found by the next run", async () => {
      await fillForeignTables(at.source, 0, some)
      const origin = await peerOrigin(await openSource(at.source.url), {
        peer: "kysely",
        mapping: readMapping(join(at.folder, "mapping.json")),
        tenant: "default",
      })
      const opened = await openDatabase({ url: at.database.url })
      const encryptionKeys = [keyFromSecret(testSecret)]
      const checked = await check(origin)
      let comparing = false
      let changing: Promise<unknown> | undefined
      const copying = copy(
        { origin, database: opened, check: checked },
        {
          ...{ tenant: "default", encryptionKeys, deletes: false },
          onRows() {
            if (comparing) changing ??= at.database.query("UPDATE users SET name = 'Changed' WHERE id = '7'")
          },
        },
      )
      await copying.write()
      const noted = checkpoint({
        ...{ file: checkpointFile(), origin, cipher: createCipher(encryptionKeys) },
        target: bulk(opened, { tenant: "default", encryptionKeys }),
      })
      const { found, obstacle } = await noted.write(checked, async () => {
        comparing = true
        return await copying.compare().finally(() => changing)
      })
      expect(found.users).toEqual({ missing: 0, changed: 0, surplus: 0, kept: 0 })
      expect(obstacle).toBe("another process wrote to the tenant during the comparison")
      noted.close()
      checked.close()
      await origin.close()
      await opened.close()
      expect((await authwire("--apply")).stdout).toMatch(/^users +0 +1 +0$/m)
    })

    test.each([
      ["cut at its end", (content: Buffer) => content.subarray(0, -100)],
      ["cut at its beginning", (content: Buffer) => content.subarray(100)],
      ["empty", () => Buffer.alloc(0)],
    ])("a file that is %s is named, and nothing is written", async (_, damage) => {
      await fillForeignTables(at.source, 0, some)
      await authwire("--apply")
      writeFileSync(checkpointFile(), damage(readFileSync(checkpointFile())))
      const { stderr, code } = await authwire("--apply")
      expect(stderr).toBe(`authwire: --checkpoint: cannot read ${checkpointFile()}: delete it\n`)
      expect(code).toBe(1)
    })

    test("the file is readable by its owner only, and contains no token and no address", async () => {
      await fillForeignTables(at.source, 0, some)
      await authwire("--apply")
      expect(statSync(checkpointFile()).mode & 0o777).toBe(0o600)
      const content = readFileSync(checkpointFile(), "latin1")
      const texts = [content, ...[...content.matchAll(/[\w+/-]{100,}={0,2}/g)].map(([text]) => atob64(text))]
      for (let id = 0; id < some; id++) {
        if (texts.some((text) => text.includes(tokenOf(id)) || text.includes(`person.${id}@`))) throw new Error(`${id}`)
      }
    })
  },
  // The databases that can report whether a row has changed.
  serviceServer(["mysql", "mariadb"]),
)

function atob64(text: string): string {
  return Buffer.from(text, "base64").toString("latin1")
}

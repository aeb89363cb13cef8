import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { globalOf, parseDatabaseUrl, urlsOfHosts, vschemas } from "../../store/sql/index.js"
import type { Work } from "./output.js"
import { withStartError } from "./with-database.js"

/**
 * `authwire migrate vschema`: writes KEYSPACE.vschema.json and KEYSPACE_global.vschema.json. Connects to nothing. Throws
 * ConfigurationError and StartError.
 */
export const writeVschemas: Work<"migrate vschema"> = async ({ databaseUrl, out }, { print }) => {
  const [location] = urlsOfHosts(databaseUrl).map(parseDatabaseUrl)
  if (location?.kind !== "server")
    throw new ConfigurationError("--database-url: only a keyspace of Vitess, mysql://…, has a vschema")
  const { sharded, global } = vschemas()
  for (const [keyspace, vschema] of [
    [location.database, sharded],
    [globalOf(location.database), global],
  ] as const) {
    const path = join(out, `${keyspace}.vschema.json`)
    await withStartError("--out", async () => writeFileSync(path, `${JSON.stringify(vschema, null, 2)}\n`))
    print(`wrote ${path}\n`)
  }
}

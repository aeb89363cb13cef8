import { codeBelow } from "../applications/pages.js"
import type { TestDatabase } from "./databases.js"

/** The two users of docs/deploying.md, each by the database's URL with that user. */
export interface DocumentedUsers {
  /** Returns the URL with the user that owns the tables and migrates them. */
  owner(url: string): string
  /** Returns the URL with the user of the service. */
  service(url: string): string
  drop(): Promise<void>
}

/** Creates the users of an empty database on a server with the statements of the page. They are named after the database. */
export async function documentedUsers(database: TestDatabase): Promise<DocumentedUsers> {
  const name = new URL(database.url).pathname.slice(1)
  const isPostgres = database.target === "postgres"
  const [ofMysql, ofPostgres] = codeBelow("docs/deploying.md", "Users of the database", "sql")
  const page = isPostgres ? ofPostgres : ofMysql
  const statements = (page ?? "").replaceAll("authwire", name).split(";\n")
  for (const sql of statements.filter((one) => one !== "")) await database.query(sql)
  const as = (username: string) => (url: string) => Object.assign(new URL(url), { username, password: "PASSWORD" }).href
  const users = [name, `${name}_owner`]
  return {
    service: as(name),
    owner: as(`${name}_owner`),
    async drop() {
      if (isPostgres) {
        await database.query(`ALTER DATABASE ${name} OWNER TO CURRENT_USER`)
        await database.query(`DROP OWNED BY ${users} CASCADE`)
        await database.query(`DROP ROLE ${users}`)
      } else await database.query(`DROP USER ${users}`)
    },
  }
}

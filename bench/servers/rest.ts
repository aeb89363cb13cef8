// A hand-written JSON server for MySQL: Express and prepared statements of mysql2.
//
//   node bench/servers/rest.ts DATABASE_URL      (reports its port to the parent)

import type { AddressInfo } from "node:net"
import express from "express"
import { createPool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise"
import { poolSize } from "../contenders/contender.ts"

const pool = createPool({ uri: process.argv[2] ?? "", connectionLimit: poolSize })

type Value = string | Date | null | undefined
const date = (value?: string) => value && new Date(value)

async function first(sql: string, values: string[]): Promise<RowDataPacket | undefined> {
  const [rows] = await pool.execute<RowDataPacket[]>(sql, values)
  return rows[0]
}

async function insert(table: string, columns: string, values: Value[]): Promise<void> {
  const marks = values.map(() => "?").join()
  await pool.execute(
    `INSERT INTO ${table} (${columns}) VALUES (${marks})`,
    values.map((value) => value ?? null),
  )
}

const userColumns = "u.id, u.name, u.email, u.emailVerified, u.image"

type UserField = "id" | "name" | "email" | "emailVerified" | "image"
type AccountField = "type" | "provider" | "providerAccountId" | "access_token" | "token_type" | "scope"
type Body = Record<UserField | AccountField | "userId" | "sessionToken" | "expires" | "identifier" | "token", string>

/** The methods of the adapter. Each gets the body of the request. */
const methods: Record<string, (body: Body) => Promise<unknown>> = {
  async createUser(user) {
    const { id, name, email, emailVerified, image } = user
    await insert("user", "id, name, email, emailVerified, image", [id, name, email, date(emailVerified), image])
    return user
  },
  getUserByEmail: ({ email }) => first(`SELECT ${userColumns} FROM user u WHERE u.email = ?`, [email]),
  getUserByAccount: ({ provider, providerAccountId }) =>
    first(
      `SELECT ${userColumns} FROM account a JOIN user u ON u.id = a.userId
       WHERE a.provider = ? AND a.providerAccountId = ?`,
      [provider, providerAccountId],
    ),
  linkAccount: ({ userId, type, provider, providerAccountId, access_token, token_type, scope }) =>
    insert("account", "userId, type, provider, providerAccountId, access_token, token_type, scope", [
      ...[userId, type, provider, providerAccountId, access_token, token_type, scope],
    ]),
  createSession: ({ sessionToken, userId, expires }) =>
    insert("session", "sessionToken, userId, expires", [sessionToken, userId, date(expires)]),
  async getSessionAndUser({ sessionToken }) {
    const row = await first(
      `SELECT s.userId, s.expires, ${userColumns} FROM session s JOIN user u ON u.id = s.userId WHERE s.sessionToken = ?`,
      [sessionToken],
    )
    if (row === undefined) return null
    const { userId, expires, ...user } = row
    return { session: { sessionToken, userId, expires }, user }
  },
  updateSession: ({ sessionToken, expires }) =>
    pool.execute("UPDATE session SET expires = ? WHERE sessionToken = ?", [date(expires) ?? null, sessionToken]),
  deleteSession: ({ sessionToken }) => pool.execute("DELETE FROM session WHERE sessionToken = ?", [sessionToken]),
  createVerificationToken: ({ identifier, token, expires }) =>
    insert("verificationToken", "identifier, token, expires", [identifier, token, date(expires)]),
  async useVerificationToken({ identifier, token }) {
    const where = "FROM verificationToken WHERE identifier = ? AND token = ?"
    const row = await first(`SELECT identifier, token, expires ${where}`, [identifier, token])
    const [{ affectedRows }] = await pool.execute<ResultSetHeader>(`DELETE ${where}`, [identifier, token])
    return affectedRows === 1 ? row : null
  },
}

const app = express()
app.use(express.json())
app.post("/:method", async (request, response) => {
  response.json((await methods[request.params.method]?.(request.body)) ?? null)
})
const server = app.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port))
process.on("disconnect", () => process.exit())

// A JSON server in front of MySQL, as people write it by hand: Express and prepared statements of mysql2.
//
//   node bench/servers/rest.ts DATABASE_URL      (says its port to the parent)

import type { AddressInfo } from "node:net"
import express from "express"
import { createPool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise"
import { poolSize } from "../contenders/contender.ts"

const pool = createPool({ uri: process.argv[2] ?? "", connectionLimit: poolSize })
const app = express()
app.use(express.json())

const userColumns = "u.id, u.name, u.email, u.emailVerified, u.image"

async function first(sql: string, params: (string | null)[]): Promise<RowDataPacket | undefined> {
  const [rows] = await pool.execute<RowDataPacket[]>(sql, params)
  return rows[0]
}

app.post("/users", async (request, response) => {
  const { id, name, email, emailVerified, image } = request.body
  const verified = emailVerified ? new Date(emailVerified) : null
  await pool.execute("INSERT INTO user (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?)", [
    ...[id, name ?? null, email, verified, image ?? null],
  ])
  response.status(201).json({ id, name, email, emailVerified, image })
})

app.get("/users/by-email/:email", async (request, response) => {
  const user = await first(`SELECT ${userColumns} FROM user u WHERE u.email = ?`, [request.params.email])
  if (user === undefined) response.sendStatus(404)
  else response.json(user)
})

app.get("/accounts/:provider/:id/user", async (request, response) => {
  const { provider, id } = request.params
  const user = await first(
    `SELECT ${userColumns} FROM account a JOIN user u ON u.id = a.userId
     WHERE a.provider = ? AND a.providerAccountId = ?`,
    [provider, id],
  )
  if (user === undefined) response.sendStatus(404)
  else response.json(user)
})

app.post("/accounts", async (request, response) => {
  const { userId, type, provider, providerAccountId, access_token, token_type, scope } = request.body
  await pool.execute(
    `INSERT INTO account (userId, type, provider, providerAccountId, access_token, token_type, scope)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [userId, type, provider, providerAccountId, access_token ?? null, token_type ?? null, scope ?? null],
  )
  response.sendStatus(204)
})

app.post("/sessions", async (request, response) => {
  const { sessionToken, userId, expires } = request.body
  await pool.execute("INSERT INTO session (sessionToken, userId, expires) VALUES (?, ?, ?)", [
    ...[sessionToken, userId, new Date(expires)],
  ])
  response.sendStatus(204)
})

app.get("/sessions/:token", async (request, response) => {
  const row = await first(
    `SELECT s.userId, s.expires, ${userColumns} FROM session s JOIN user u ON u.id = s.userId WHERE s.sessionToken = ?`,
    [request.params.token],
  )
  if (row === undefined) {
    response.sendStatus(404)
    return
  }
  const { userId, expires, ...user } = row
  response.json({ session: { sessionToken: request.params.token, userId, expires }, user })
})

app.delete("/sessions/:token", async (request, response) => {
  await pool.execute("DELETE FROM session WHERE sessionToken = ?", [request.params.token])
  response.sendStatus(204)
})

app.post("/verification-tokens/use", async (request, response) => {
  const { identifier, token } = request.body
  const row = await first(
    "SELECT identifier, token, expires FROM verificationToken WHERE identifier = ? AND token = ?",
    [...[identifier, token]],
  )
  const [deleted] = await pool.execute<ResultSetHeader>(
    "DELETE FROM verificationToken WHERE identifier = ? AND token = ?",
    [identifier, token],
  )
  if (row === undefined || deleted.affectedRows === 0) response.sendStatus(404)
  else response.json(row)
})

const server = app.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port))
process.on("disconnect", () => process.exit())

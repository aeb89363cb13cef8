import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { AuthwireAdapter, createAuthwireClient, RemoteJwt } from "@authwire/client"
import * as edge from "@authwire/client/edge"
import { UserService } from "@authwire/proto"
import { decode, encode } from "@authwire/token"

const url = process.env.AUTHWIRE_URL
const email = `${crypto.randomUUID()}@example.com`
const client = createAuthwireClient({ url })
const adapter = AuthwireAdapter({ url })
const user = await adapter.createUser({ id: crypto.randomUUID(), email, emailVerified: null, role: "admin" })
assert.deepEqual(await client.adapter.getUserByEmail(email), user)
assert.equal(user.role, "admin")
await adapter.deleteUser(user.id)
assert.equal(await adapter.getUser(user.id), null)

const jwt = RemoteJwt({ url })
const remote = await jwt.encode({ token: { sub: user.id }, salt: "authjs.session-token", maxAge: 60 })
assert.equal((await jwt.decode({ token: remote, salt: "authjs.session-token" })).sub, user.id)
const local = await encode({ token: { sub: "1" }, secret: "a secret", salt: "s" })
assert.equal((await decode({ token: local, secret: "a secret", salt: "s" })).sub, "1")
client.close()

assert.equal(typeof edge.AuthwireAdapter, "function")
assert.equal(UserService.typeName, "authwire.v1.UserService")
const { version } = createRequire(import.meta.url)("@authwire/client/package.json")
console.log(`import ${version} on Node ${process.versions.node}`)

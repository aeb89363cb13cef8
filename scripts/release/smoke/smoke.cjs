const assert = require("node:assert/strict")
const { createAuthwireClient } = require("@authwire/client")
const edge = require("@authwire/client/edge")
const { UserService } = require("@authwire/proto")
const { decode, encode } = require("@authwire/token")

main()

async function main() {
  const client = createAuthwireClient({ url: process.env.AUTHWIRE_URL })
  assert.equal(await client.adapter.getUserByEmail("nobody@example.com"), null)
  client.close()
  const token = await encode({ token: { sub: "1" }, secret: "a secret", salt: "s" })
  assert.equal((await decode({ token, secret: "a secret", salt: "s" })).sub, "1")
  assert.equal(typeof edge.AuthwireAdapter, "function")
  assert.equal(UserService.typeName, "authwire.v1.UserService")
  console.log(`require on Node ${process.versions.node}`)
}

import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { expect, test } from "@jest/globals"
import { openSource } from "./open.js"

test("a server that accepts connections and never answers is an error", async () => {
  const silent = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1")
  await once(silent, "listening")
  const { port } = silent.address() as AddressInfo
  await expect(openSource(`postgresql://user:password@127.0.0.1:${port}/database`)).rejects.toThrow("timeout")
  silent.close()
})

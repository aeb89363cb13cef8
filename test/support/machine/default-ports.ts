import { connect } from "node:net"

// Loaded by jest and by Node directly.

/** The ports on which `make run` and what the pages start beside it listen. */
const defaultPorts = [50051, 8080, 8090, 8091, 8092, 8093, 8094]

/** The default ports on which another program listens at 127.0.0.1. */
export async function takenPorts(): Promise<number[]> {
  const taken = await Promise.all(
    defaultPorts.map(
      (port) =>
        new Promise<boolean>((resolve) => {
          const socket = connect(port, "127.0.0.1")
          const end = (isTaken: boolean) => {
            socket.destroy()
            resolve(isTaken)
          }
          socket.once("connect", () => end(true)).once("error", () => end(false))
        }),
    ),
  )
  return defaultPorts.filter((_, index) => taken[index])
}

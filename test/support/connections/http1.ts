import http from "node:http"

/**
 * The HTTP/1.1 options of the transports of `@connectrpc/connect-node` in tests. Connections live as long as those of
 * Node's own agent, but the one that has been idle longest is used first. Node's own agent takes the connection that
 * was used last, and checks only the first one for being closed. So in a busy process it hands out connections that it
 * has just closed itself, and the request fails with "socket hang up".
 */
export const http1Options = {
  httpVersion: "1.1",
  nodeOptions: { agent: new http.Agent({ keepAlive: true, timeout: 5_000, scheduling: "fifo" }) },
} as const

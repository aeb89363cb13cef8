import http from "node:http"

/**
 * How transports of `@connectrpc/connect-node` go over HTTP/1.1 in tests: with connections that live for as long as
 * those of Node's own agent, but the one that is idle longest is used first. Node's own takes the one that was used last
 * and looks only at the first whether it is closed already; so in a busy process it hands out connections that it has
 * just closed itself, and the request fails with "socket hang up".
 */
export const http1Options = {
  httpVersion: "1.1",
  nodeOptions: { agent: new http.Agent({ keepAlive: true, timeout: 5_000, scheduling: "fifo" }) },
} as const

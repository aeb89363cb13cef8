import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { connects, freePort } from "../machine/free-port.ts"
import { outputOf } from "../processes/output.ts"
import { until } from "../until.ts"

/** An HAProxy that balances TCP connections. */
export interface HaProxy {
  /** The port on 127.0.0.1 on which it listens. */
  readonly port: number
  stop(): Promise<void>
}

/** Starts HAProxy in TCP mode in front of a port of several hosts. It checks each host by connecting to it. */
export async function startHaProxy(program: string, hosts: readonly string[], hostPort: number): Promise<HaProxy> {
  const port = await freePort()
  const file = join(mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "haproxy-")), "haproxy.cfg")
  const servers = hosts.map((host, index) => `  server s${index} ${host}:${hostPort} check inter 200ms fall 1 rise 1`)
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 2s
  timeout client 5m
  timeout server 5m
  option redispatch 1
listen authwire
  bind 127.0.0.1:${port}
  balance roundrobin
${servers.join("\n")}
`,
  )
  const child = spawn(program, ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] })
  const output = outputOf(child)
  const closed = once(child, "close")
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy did not start:\n${output.stderr}`)
    return connects(port)
  })
  return {
    port,
    async stop() {
      child.kill("SIGKILL")
      await closed
    },
  }
}

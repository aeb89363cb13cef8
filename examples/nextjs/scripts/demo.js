/**
 * Runs the application with the OpenID Connect provider and the mailbox of examples/express:
 *
 *     node scripts/demo.js dev | start | standalone
 *
 * The application gets its whole configuration from the environment, as in any other deployment.
 */
import { fork, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const port = process.env.PORT || "3000"
// Not 127.0.0.1, because a passkey belongs to a host name.
const host = "localhost"
const next = fileURLToPath(new URL("../node_modules/next/dist/bin/next", import.meta.url))
const commands = {
  dev: [next, "dev", "--hostname", host, "--port", port],
  start: [next, "start", "--hostname", host, "--port", port],
  standalone: [fileURLToPath(new URL("../.next/standalone/examples/nextjs/server.js", import.meta.url))],
}

const command = commands[process.argv[2]]
if (command === undefined) {
  console.error(`usage: node scripts/demo.js ${Object.keys(commands).join(" | ")}`)
  process.exit(2)
}

const secret = () => randomBytes(32).toString("base64url")
const clientSecret = secret()

/** Starts a program of examples/express. It reports its addresses and exits with this process. */
async function startService(name) {
  const child = fork(fileURLToPath(import.meta.resolve(`@authwire/example-express/dist/${name}.js`)), {
    env: {
      OIDC_LOGOUT_URL: `http://${host}:${port}/api/signals/demo`,
      ...process.env,
      OIDC_CLIENT_SECRET: clientSecret,
    },
  })
  child.once("exit", (code) => process.exit(code || 1))
  const [addresses] = await once(child, "message")
  return addresses
}

const [{ issuer }, { smtpUrl, mailboxUrl }] = await Promise.all([startService("oidc"), startService("mailbox")])
const application = spawn(process.execPath, command, {
  stdio: "inherit",
  env: {
    AUTH_SECRET: secret(),
    AUTH_URL: `http://${host}:${port}`,
    ...process.env,
    PORT: port,
    HOSTNAME: host,
    AUTH_DEMO_ISSUER: issuer,
    AUTH_DEMO_SECRET: clientSecret,
    SMTP_URL: smtpUrl,
    MAILBOX_URL: mailboxUrl,
  },
})
application.once("exit", (code) => process.exit(code ?? 0))
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => application.kill(signal))

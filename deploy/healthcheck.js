// The health check of the image. Exits with 0 if the service in the container reports that it is ready, otherwise with
// 1.
import http from "node:http"
import https from "node:https"

const { AUTHWIRE_HTTP_ADDR, AUTHWIRE_TLS_CERT } = process.env
// An empty variable counts as not set, as it does for the service.
const httpAddress = AUTHWIRE_HTTP_ADDR || "127.0.0.1:8080"
if (httpAddress === "off") {
  process.stderr.write("AUTHWIRE_HTTP_ADDR: is off, but the health check needs the HTTP listener\n")
  process.exit(1)
}
const [, address, port] = /^\[?(.*?)\]?:(\d+)$/.exec(httpAddress) ?? []
// A service that listens on all addresses also listens on those of the loopback interface. Both are tried, because a
// container often has only one of them.
const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
]
const lookup = (_host, _options, found) => found(null, loopback)
const target = ["0.0.0.0", "::"].includes(address) ? { host: "localhost", lookup } : { host: address }
// The certificate is not verified, because it is issued for the service's external names. Nothing secret is sent.
const options = { ...target, port, path: "/readyz", timeout: 2000, rejectUnauthorized: false }

const request = (AUTHWIRE_TLS_CERT ? https : http).get(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on("timeout", () => process.exit(1))
request.on("error", () => process.exit(1))

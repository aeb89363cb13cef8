// Checks the Python package as it would be published.
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "./packages.js"

const program = `
from importlib.metadata import version
from authwire.v1 import user_service_pb2, user_service_pb2_grpc
assert user_service_pb2_grpc.UserServiceStub
name = user_service_pb2.DESCRIPTOR.services_by_name["UserService"].full_name
print(name, version("authwire-proto"))
`

/** Builds a wheel of gen/python, installs it in a new environment, and imports it. Throws on failure. */
export function checkPython(folder) {
  mkdirSync(folder, { recursive: true })
  const run = (command, args) => execFileSync(command, args, { cwd: folder, encoding: "utf8" })
  run("python3", ["-m", "venv", "environment"])
  const python = join(folder, "environment/bin/python")
  const pip = (...args) => run(python, ["-m", "pip", "--quiet", "--disable-pip-version-check", ...args])
  pip("wheel", "--no-deps", `--wheel-dir=${folder}`, join(root, "gen/python"))
  const [wheel] = globSync("*.whl", { cwd: folder })
  pip("install", join(folder, wheel))
  pip("check")
  console.log(`release: ${wheel}: imported, ${run(python, ["-c", program]).trim()}`)
}

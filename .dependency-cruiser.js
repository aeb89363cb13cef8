import { floors } from "./scripts/floors.ts"

/** Forbids files whose path matches `from` to import what matches `to`. Test files are not checked. */
const wall = (name, from, to) => ({ name, severity: "error", from: { path: from }, to: { path: to } })

const packages = (names) => `(^|node_modules/)(${names.join("|")})(/|$)`
const server = "^server/|(^|node_modules/)@authwire/server"
const client = "^client/|(^|node_modules/)@authwire/client"
const generated = "^gen/ts/|(^|node_modules/)@authwire/proto"
const rpcLibraries = packages(["@bufbuild", "@connectrpc", "@grpc"])
const databaseDrivers = `${packages(["typeorm", "mysql2", "pg", "postgres-array"])}|^(node:)?sqlite$`

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "circle-of-folders",
      severity: "error",
      scope: "folder",
      from: {},
      to: { circular: true },
    },
    ...floors.slice(1).map(({ folders }, index) => {
      const above = floors.slice(0, index + 1).flatMap((floor) => floor.folders)
      return wall(`above-${folders[0]}`, `^server/src/(${folders.join("|")})/`, `^server/src/(${above.join("|")})/`)
    }),
    wall("client-in-server", "^server/src/", client),
    wall("ours-in-console", "^console/src/", `${server}|${client}`),
    wall("server-in-client", "^client/src/", `${server}|${databaseDrivers}`),
    // The token module loads in edge runtimes.
    wall("edge-runtimes", "^token/src/", `${server}|${client}|${generated}|${rpcLibraries}`),
    { name: "node-in-token", severity: "error", from: { path: "^token/src/" }, to: { dependencyTypes: ["core"] } },
    wall(
      "wire-in-store",
      "^server/src/store/",
      `${generated}|${rpcLibraries}|^server/src/errors/(failure|wire-status)`,
    ),
    wall("database-in-interface", "^server/src/store/[^/]+$", `${databaseDrivers}|^server/src/store/sql/`),
    wall(
      "database-outside-of-store",
      "^server/src/(?!(store|import|doctor|config|bootstrap|cli|metrics)/)",
      `${databaseDrivers}|^server/src/store/sql/`,
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "\\.test\\.ts$" },
    parser: "swc",
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
}

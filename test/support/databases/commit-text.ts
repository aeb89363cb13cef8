import type { ServerEngine } from "./servers.js"

/** COMMIT with the byte that the protocols of MySQL and MariaDB have in front of it: READ COMMITTED is a part of another statement. */
export const commitText: Record<ServerEngine, string> = {
  mysql: "\x01COMMIT",
  mariadb: "\x03COMMIT",
  postgres: "COMMIT",
}

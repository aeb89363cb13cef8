import { type Connection, createConnection } from "mysql2/promise"
import { orAborted } from "../../../util/abort.js"
import { peerSignal } from "../../../util/peer-timeout.js"
import { connectionOptions } from "../engine/connection-options.js"
import { type MemberState, memberState } from "../engine/mysql/member-state.js"
import { statementError } from "../engine/mysql/mysql-errors.js"
import type { ServerLocation } from "../engine/url/url.js"
import { StatementError } from "../query/statement-error.js"

/** A member that does not answer within this time, in milliseconds, counts as silent. */
export const silentMs = 1000

/** A connection that only queries the state of a member. */
export interface MemberConnection {
  /** Queries the state. Throws StatementError. */
  ask(): Promise<MemberState>
  close(): void
}

/** Connects to a member. Throws StatementError. */
export async function connectToMember(location: ServerLocation): Promise<MemberConnection> {
  let connection: Connection
  try {
    // A program that returns the password may take longer than a member that is not silent.
    const password = (await location.readPassword?.()) ?? location.password
    const known = { ...location, password, readPassword: undefined }
    connection = await createConnection({ ...connectionOptions(known), connectTimeout: silentMs })
  } catch (error) {
    throw statementError(error)
  }
  // The driver also emits errors on an idle connection. Without a listener they would end the process.
  connection.on("error", () => {})
  return {
    async ask() {
      const late = peerSignal(silentMs)
      try {
        return await orAborted(memberState(connection), late)
      } catch (error) {
        if (late.aborted) throw new StatementError("timeout", `no answer within ${silentMs} ms`)
        throw statementError(error)
      }
    },
    close: () => connection.destroy(),
  }
}

import { type Session, SessionSchema } from "@authwire/proto"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { typedLine, type Work } from "../commands/output.js"
import { jsonOf, maxPageSize, printList, timeOf } from "./listing.js"
import { withService } from "./service.js"

const columns = {
  id: ({ id }: Session) => id,
  created: ({ createTime }: Session) => timeOf(createTime),
  "last seen": ({ lastSeenTime }: Session) => timeOf(lastSeenTime),
  expires: ({ expires }: Session) => timeOf(expires),
  provider: ({ provider }: Session) => provider ?? "",
  address: ({ ip }: Session) => ip ?? "",
  impersonator: ({ impersonator }: Session) => impersonator ?? "",
  "user agent": ({ userAgent }: Session) => userAgent ?? "",
}

/** `authwire sessions list`. Throws StartError. */
export const listSessions: Work<"sessions list"> = async (configuration, output) => {
  const { user: userId } = configuration
  await withService(configuration, ({ sessions }) =>
    printList(configuration, output, {
      schema: SessionSchema,
      columns,
      async read(page) {
        const { sessions: items, nextPageToken } = await sessions.listSessions({ ...page, userId })
        return { items, nextPageToken }
      },
    }),
  )
}

/** `authwire sessions revoke ID`. Waits for the session caches. Throws StartError. */
export const revokeSession: Work<"sessions revoke"> = async (configuration, { print, say }, id) => {
  const { dryRun, json } = configuration
  const session = await withService(configuration, async ({ sessions }) => {
    const call = dryRun ? sessions.getSession({ id }) : sessions.revokeSession({ id, awaitCaches: true })
    return (await call).session
  })
  if (session === undefined)
    throw new StartError("there is no session with this id: authwire sessions list shows the ids")
  await print(
    json ? `${jsonOf(SessionSchema, session)}\n` : `${dryRun ? "found" : "revoked"} ${id} of ${session.userId}\n`,
  )
  if (dryRun) say("dry run: nothing was revoked\n")
}

/**
 * `authwire sessions revoke-all`. Without a user it asks for a confirmation. Waits for the session caches. Throws
 * ConfigurationError and StartError.
 */
export const revokeSessions: Work<"sessions revoke-all"> = async (configuration, { print, say }) => {
  const { userOfAll: userId, provider, dryRun, json } = configuration
  if (userId === undefined) return revokeAll(configuration, { print, say }, "")
  if (provider !== undefined) throw new ConfigurationError("sessions revoke-all: give --user or --provider, not both")
  const revoked = await withService(configuration, async ({ sessions }) => {
    if (!dryRun) return (await sessions.revokeUserSessions({ userId, awaitCaches: true })).revoked
    let count = 0n
    for (let pageToken = ""; ; ) {
      const page = await sessions.listSessions({ userId, pageSize: maxPageSize, pageToken })
      count += BigInt(page.sessions.length)
      pageToken = page.nextPageToken
      if (pageToken === "") return count
    }
  })
  const count = Number(revoked)
  await print(json ? `${JSON.stringify({ sessions: count })}\n` : `${dryRun ? "found" : "revoked"}: ${count}\n`)
  if (dryRun) say("dry run: nothing was revoked\n")
}

/** Ends the sessions of everybody, or those of one provider. Nobody counts them, so it takes as long as for one. */
const revokeAll: Work<"sessions revoke-all"> = async (configuration, { print, say }) => {
  const { provider, yes, dryRun, json } = configuration
  const whose = provider === undefined ? "of everybody" : `of everybody who signed in with ${provider}`
  if (dryRun) return say(`dry run: the sessions ${whose} would end; nothing was revoked\n`) as undefined
  if (!yes && (await typedLine(`The sessions ${whose} end. Type yes to go on: `, say)) !== "yes")
    throw new ConfigurationError("sessions revoke-all: it was not confirmed: nothing was revoked")
  const { createdBefore } = await withService(configuration, ({ sessions }) =>
    sessions.revokeAllSessions({ provider, awaitCaches: true }),
  )
  const before = timeOf(createdBefore)
  await print(
    json ? `${JSON.stringify({ createdBefore: before })}\n` : `revoked: all that were created before ${before}\n`,
  )
}

import { type Session, SessionSchema } from "@authwire/proto"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import type { CommandOutput } from "../commands/output.js"
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
export async function listSessions(
  configuration: Configuration<"sessions list">,
  output: CommandOutput,
): Promise<undefined> {
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
export async function revokeSession(
  configuration: Configuration<"sessions revoke">,
  { print, say }: CommandOutput,
  id: string,
): Promise<undefined> {
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

/** `authwire sessions revoke-all`. Waits for the session caches. Throws StartError. */
export async function revokeSessions(
  configuration: Configuration<"sessions revoke-all">,
  { print, say }: CommandOutput,
): Promise<undefined> {
  const { user: userId, dryRun, json } = configuration
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

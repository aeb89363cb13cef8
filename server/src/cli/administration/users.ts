import {
  type Disabled,
  type ExportUserResponse,
  ExportUserResponseSchema,
  type User,
  UserSchema,
} from "@authwire/proto"
import { toJson } from "@bufbuild/protobuf"
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { type CommandOutput, table, type Work } from "../commands/output.js"
import { jsonOf, maxPageSize, printList, timeOf } from "./listing.js"
import { noSuchUser, type Service, withService } from "./service.js"

const columns = {
  id: ({ id }: User) => id,
  email: ({ email }: User) => email ?? "",
  name: ({ name }: User) => name ?? "",
  created: ({ createTime }: User) => timeOf(createTime),
}

/** `authwire users create`. Throws ConfigurationError and StartError. */
export const createUser: Work<"users create"> = async (configuration, { print }) => {
  const { email, verified, userName, extra, json } = configuration
  if (!email) throw new ConfigurationError("--email: is required, because the user signs in with it")
  const user = { email, emailVerified: timeFrom(verified), name: userName || undefined, extra }
  await withService(configuration, async ({ users }) => {
    const created = (await users.createUser(user)).user as User
    await print(json ? `${jsonOf(UserSchema, created)}\n` : `created ${created.id}\n`)
  })
}

/** `authwire users set ID`: changes what is given; an empty address, name or time is removed. Throws ConfigurationError and StartError. */
export const setUser: Work<"users set"> = async (configuration, { print }, id) => {
  const { email, verified, userName: name, extra, json } = configuration
  const given = { email, email_verified: verified, name, extra }
  const paths = Object.entries(given).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  if (paths.length === 0)
    throw new ConfigurationError("users set: give at least one of --email, --verified, --name, --extra")
  const fields = { email: email || undefined, emailVerified: timeFrom(verified), name: name || undefined, extra }
  await withService(configuration, async ({ users }) => {
    const { user } = await users.updateUser({ id, ...fields, updateMask: { paths } })
    await print(json ? `${jsonOf(UserSchema, user as User)}\n` : `changed ${id}\n`)
  })
}

const timeFrom = (date: Date | null | undefined) => (date ? timestampFromDate(date) : undefined)

/** The filter and the order of a list, by the option --sort. */
const sorted = {
  newest: { newestFirst: true },
  oldest: {},
  "last-seen": { newestFirst: true, lastSeenSince: timestampFromMs(0) },
} as const

/** `authwire users list`. Throws StartError. */
export const listUsers: Work<"users list"> = async (configuration, output) => {
  const { sort } = configuration
  await withService(configuration, ({ users }) =>
    printList(configuration, output, {
      schema: UserSchema,
      columns,
      async read(page) {
        const { users: items, nextPageToken } = await users.listUsers({ ...page, ...sorted[sort] })
        return { items, nextPageToken }
      },
      // No index counts those who were seen.
      ...(sort !== "last-seen" && { count: async () => (await users.countUsers({})).count }),
    }),
  )
}

/** `authwire users find TEXT`: by the beginning of the address, or if there is none, of the name. Throws StartError. */
export const findUsers: Work<"users find"> = async (configuration, output, text) => {
  await withService(configuration, async ({ users }) => {
    const byEmail = { emailPrefix: text }
    const { users: found } = await users.listUsers({ ...byEmail, pageSize: 1 })
    const filter = found.length > 0 ? byEmail : { namePrefix: text }
    await printList(configuration, output, {
      schema: UserSchema,
      columns,
      async read(page) {
        const { users: items, nextPageToken } = await users.listUsers({ ...page, ...filter })
        return { items, nextPageToken }
      },
    })
  })
}

/** `authwire users show ID`. Throws StartError. */
export const showUser: Work<"users show"> = async (configuration, output, id) => {
  await withService(configuration, async (service) =>
    printUser(await userOf(service, id), service, configuration, output),
  )
}

/** `authwire users disable ID`. Waits for the session caches. Throws StartError. */
export const disableUser: Work<"users disable"> = async ({ reason, until, ...configuration }, { print }, id) => {
  await withService(configuration, async ({ users }) => {
    const endTime = until && timestampFromDate(until)
    const { user, revokedSessions } = await users.disableUser({ id, reason, endTime, awaitCaches: true })
    const text = `disabled ${id}; sessions revoked: ${revokedSessions}\n`
    await print(configuration.json ? `${jsonOf(UserSchema, user as User)}\n` : text)
  })
}

/** `authwire users enable ID`. Throws StartError. */
export const enableUser: Work<"users enable"> = async (configuration, { print }, id) => {
  await withService(configuration, async ({ users }) => {
    const { user } = await users.enableUser({ id })
    await print(configuration.json ? `${jsonOf(UserSchema, user as User)}\n` : `enabled ${id}\n`)
  })
}

/** `authwire users delete ID`. Throws StartError. */
export const deleteUser: Work<"users delete"> = async (configuration, output, id) => {
  await withService(configuration, async (service) => {
    if (configuration.dryRun) {
      await printUser(await userOf(service, id), service, configuration, output)
      output.say(
        "dry run: nothing was deleted; without --dry-run the user is deleted with its accounts, sessions and passkeys\n",
      )
      return
    }
    const { user } = await service.users.deleteUser({ id })
    await output.print(configuration.json ? `${jsonOf(UserSchema, user as User)}\n` : `deleted ${id}\n`)
  })
}

/** The lists of an exported user, in the order in which the service returns them. */
const exportedLists = ["authenticators", "accounts", "sessions", "events"] as const

/**
 * `authwire users export ID`: prints one JSON document with the fields of ExportUserResponse, of which each list has the items
 * of all pages. The document is printed page by page. Throws StartError; then it is incomplete.
 */
export const exportUser: Work<"users export"> = async (configuration, { print }, id) => {
  await withService(configuration, async ({ users }) => {
    let begun = 0
    let separator = ""
    let pageToken = ""
    do {
      const page = await users.exportUser({ userId: id, pageSize: maxPageSize, pageToken })
      if (pageToken === "") await print(`{"user":${jsonOf(UserSchema, page.user as User)}`)
      const json = toJson(ExportUserResponseSchema, page) as Partial<Record<keyof ExportUserResponse, unknown[]>>
      for (const [index, list] of exportedLists.entries()) {
        const items = json[list] ?? []
        for (; items.length > 0 && begun <= index; begun++) {
          await print(`${begun === 0 ? "" : "]"},\n"${exportedLists[begun]}":[`)
          separator = "\n"
        }
        for (const item of items) {
          await print(`${separator}${JSON.stringify(item)}`)
          separator = ",\n"
        }
      }
      pageToken = page.nextPageToken
    } while (pageToken !== "")
    for (; begun < exportedLists.length; begun++) await print(`${begun === 0 ? "" : "]"},\n"${exportedLists[begun]}":[`)
    await print("]}\n")
  })
}

/** Returns a user with its times, which GetUser does not return. */
async function userOf({ users }: Service, id: string): Promise<User> {
  const [user] = (await users.batchGetUsers({ ids: [id] })).users
  if (user === undefined) throw new StartError(noSuchUser)
  return user
}

async function printUser(
  user: User,
  { accounts }: Service,
  { json }: { json: boolean },
  { print }: CommandOutput,
): Promise<void> {
  if (json) return print(`${jsonOf(UserSchema, user)}\n`)
  const linked = await accounts.listAccountsByUser({ userId: user.id, pageSize: maxPageSize })
  const providers = linked.accounts.map(({ provider, providerAccountId }) => `${provider} (${providerAccountId})`)
  const rows = [
    ["id", user.id],
    ["email", user.email ?? ""],
    ["email verified", timeOf(user.emailVerified)],
    ["name", user.name ?? ""],
    ["created", timeOf(user.createTime)],
    ["disabled", user.disabled === undefined ? "" : disabledText(user.disabled)],
    ["accounts", `${providers.join(", ")}${linked.nextPageToken === "" ? "" : ", …"}`],
    ["further properties", user.extra === undefined ? "" : JSON.stringify(user.extra)],
  ]
  await print(table(["property", "value"], rows))
}

function disabledText({ disableTime, endTime, reason }: Disabled): string {
  const times = `since ${timeOf(disableTime)}${endTime === undefined ? "" : ` until ${timeOf(endTime)}`}`
  return reason === undefined ? times : `${times}: ${reason}`
}

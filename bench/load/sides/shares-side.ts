// A tenant's application in bench/shares.ts. It calls the service with its own key, from several callers in turn.
//
//   startChild("shares-side.ts", [url of the gRPC listener, API key, url of the HTTP listener])

import { createAuthwireClient } from "@authwire/client"
import { EventKind, EventService, UpdateUserRequestSchema } from "@authwire/proto"
import { fromJson, toBinary } from "@bufbuild/protobuf"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { answerParent } from "../child.ts"
import { openTimes } from "../statistics.ts"

/** What a caller does again and again. The user `many` has very many expired sessions. */
export type SharesCall = keyof typeof calls
export type SharesRequest =
  | {
      do: "begin"
      calls: readonly SharesCall[]
      callers: number
      pauseMs: number
      /** The cursor from which events are watched. Default: from now on. */
      cursor?: string
      /** The number of the first user that is deleted. Default: 0. */
      firstDeleted?: number
    }
  | { do: "look" }

/** The calls since the last look: their times in milliseconds, how many there were, and how many of them failed. */
export interface SharesSight {
  p50: number
  p99: number
  worst: number
  made: number
  failed: number
}

const [url = "", apiKey = "", httpUrl = ""] = process.argv.slice(2)
const client = createAuthwireClient({ url, apiKey, timeoutMs: 10_000 })
const { sessions, users, accounts } = client
const events = createClient(EventService, createGrpcTransport({ baseUrl: url }))
const headers = { authorization: `Bearer ${apiKey}` }
const expected = { code: "NOT_FOUND" }
/** An update of a user to 64 KiB of small values. */
const smallValues = { id: "r0", extra: { zeros: Array(32_000).fill(0) }, updateMask: "extra" }
const [smallInJson, smallInProtobuf] = [
  Buffer.from(JSON.stringify(smallValues)),
  toBinary(UpdateUserRequestSchema, fromJson(UpdateUserRequestSchema, smallValues)),
]
const largeUsers = Array.from({ length: 500 }, (_, n) => `r${n}`)

const calls = {
  getSessionAndUser: () => sessions.getSessionAndUser({ sessionToken: "own" }),
  getUser: () => users.getUser({ id: "own" }),
  updateUser: () => users.updateUser({ id: "own", name: `${writes++}`, updateMask: { paths: ["name"] } }),
  listSessions: () => sessions.listSessions({ userId: "own" }),
  listActive: () => sessions.listSessions({ userId: "many", active: true }),
  listByProvider: () => sessions.listSessions({ userId: "many", provider: "none" }),
  countUsers: () => users.countUsers({}),
  exportUsers,
  listUsers: () => users.listUsers({ pageSize: 100 }),
  listUsersAsJson: () => callEncoded("ListUsers", Buffer.from(`{"pageSize":100}`)),
  getUserAsJson: () => callEncoded("GetUser", Buffer.from(`{"id":"r0"}`)),
  updateUserAsJson: () => callEncoded("UpdateUser", smallInJson),
  updateLargeUser: () => callEncoded("UpdateUser", smallInProtobuf, "proto"),
  batchGetUsers: () => users.batchGetUsers({ ids: largeUsers }),
  getLargeUser: () => users.getUser({ id: "r0" }),
  deleteUser: () => users.deleteUser({ id: `d${deleted++}` }),
  watch,
  listAccounts: () => accounts.listAccountsByUser({ userId: "many", pageToken: lastPage, pageSize: 1 }),
}
let [lastPage, exportedUntil, cursor, deleted, writes] = ["", "", "", 0, 0]

/** Reads the next page of all users, as an export does. Its callers read one after the other from the beginning. */
async function exportUsers(): Promise<void> {
  const { nextPageToken } = await users.listUsers({ pageSize: 1000, pageToken: exportedUntil })
  exportedUntil = nextPageToken
}

/** Makes a call of Connect with a request that is encoded already, without decoding the answer. */
async function callEncoded(method: string, body: Uint8Array<ArrayBuffer>, format = "json"): Promise<void> {
  const response = await fetch(`${httpUrl}/authwire.v1.UserService/${method}`, {
    method: "POST",
    headers: { ...headers, "content-type": `application/${format}` },
    body,
  })
  await response.bytes()
  if (!response.ok) throw new Error(`status ${response.status}`)
}

/** Watches for events of a kind that there are none of, for a second, so that the service reads all events since the cursor. */
async function watch(): Promise<void> {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), 1_000)
  try {
    for await (const _ of events.watch(
      { startCursor: cursor, kinds: [EventKind.ACCOUNT_UNLINKED] },
      { signal: stop.signal, headers },
    ));
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Finds a page far from the beginning of the list. */
async function findLaterPage(): Promise<void> {
  for (let page = 0; page < 100; page++) {
    const { nextPageToken } = await accounts.listAccountsByUser({ userId: "many", pageToken: lastPage, pageSize: 1000 })
    if (nextPageToken === "") return
    lastPage = nextPageToken
  }
}

let times = openTimes()
let [failed, worst] = [0, 0]

async function caller(which: readonly SharesCall[], pauseMs: number): Promise<never> {
  for (let n = 0; ; n++) {
    const begun = performance.now()
    try {
      await calls[which[n % which.length] as SharesCall]()
    } catch (error) {
      if ((error as { code?: unknown }).code !== expected.code) failed++
    }
    const ms = performance.now() - begun
    times.add(ms)
    worst = Math.max(worst, ms)
    // A rejected call is not repeated in the same turn.
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

answerParent(async (request: SharesRequest): Promise<SharesSight> => {
  if (request.do === "begin") {
    ;({ cursor = "", firstDeleted: deleted = 0 } = request)
    if (request.calls.includes("listAccounts")) await findLaterPage()
    for (let n = 0; n < request.callers; n++) caller(request.calls, request.pauseMs)
  }
  const sight = { p50: times.percentile(50), p99: times.percentile(99), worst, made: times.count(), failed }
  times = openTimes()
  ;[failed, worst] = [0, 0]
  return sight
})

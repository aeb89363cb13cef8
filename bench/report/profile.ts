import type { ProfileResults, Share } from "../results.ts"
import { table } from "./markdown.ts"
import { factsText } from "./wire.ts"

/** The tables of bench/profile.ts. */
export function profileReport({ facts, callers, seconds, server, client, serverFunctions }: ProfileResults): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  const shareOf = (shares: readonly Share[], name: string) => shares.find((share) => share.name === name)?.share
  const names = [...new Set([...server, ...client].map(({ name }) => name))]
  return [
    factsText(facts),
    `getSessionAndUser, ${callers} callers, ${seconds} s: the share of each in the time that a process was busy.`,
    table(
      ["", "server", "client"],
      names.map((name) => [
        name,
        ...[server, client].map((shares) => {
          const share = shareOf(shares, name)
          return share === undefined ? "" : percent(share)
        }),
      ]),
    ),
    "The functions of the server that take the most time themselves:",
    table(
      ["", "where", "share"],
      serverFunctions.map(({ name, where, share }) => [`\`${name}\``, where, percent(share)]),
    ),
    "![flame graph of the server](performance/flame-server.svg)",
    "![flame graph of the client](performance/flame-client.svg)",
  ].join("\n\n")
}

/** The adapters of Auth.js whose tables can be imported. */
export const peers = ["prisma", "drizzle", "typeorm", "kysely"] as const

export type Peer = (typeof peers)[number]

/** The kinds of databases that can be imported. `authwire` stands for another Authwire database. */
export const origins = [...peers, "authwire"] as const

/** The adapters of Auth.js and next-auth 4 whose tables can be imported. */
export const peers = ["prisma", "drizzle", "typeorm", "kysely", "sequelize", "pg", "jsonl"] as const

export type Peer = (typeof peers)[number]

/** The kinds of databases that can be imported. `authwire` stands for another Authwire database. */
export const importSources = [...peers, "authwire"] as const

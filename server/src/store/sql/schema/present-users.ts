import type { Dialect } from "./dialect.js"

/**
 * Conditions about users that exist for a call, and are not disabled. A user with many dependent rows is deleted by a mark, the time in
 * `users.deleted`. From then on it does not exist for any call; its rows are deleted later, in batches (see
 * users/user-deletions.ts). A SELECT from `users`, or a join with it, leaves out marked users by itself, because
 * TypeORM knows the column.
 */

/**
 * Returns the condition that the user of a row is not being deleted. It reads one value by the primary key. With EXISTS
 * in its place PostgreSQL would read all users that are being deleted.
 *
 * @param tenant the tenant of the row: a column or a parameter.
 * @param userId its user.
 */
export function ofPresentUser(tenant: string, userId: string): string {
  return `(SELECT o.deleted FROM users o WHERE o.tenant = ${tenant} AND o.id = ${userId}) IS NULL`
}

/**
 * Returns the value of the user's id in the insert of a row: null if the user is being deleted or is disabled. The column
 * is not nullable, so the insert fails like that of a row whose user does not exist.
 *
 * @param condition a further condition about the user `o`.
 */
export function presentUser(tenant: string, userId: string, dialect: Dialect, condition?: string): string {
  const isPresent = [
    "o.deleted IS NULL",
    isEnabled("o", dialect),
    ...(condition === undefined ? [] : [condition]),
  ].join(" AND ")
  return `(SELECT o.id FROM users o WHERE o.tenant = ${tenant} AND o.id = ${userId} AND ${isPresent}${dialect.lockOfParent})`
}

/**
 * Returns the condition that a user is not disabled. It needs no write when the time of a user ends. The clock of the
 * database decides.
 *
 * @param alias the alias of `users`.
 */
export function isEnabled(alias: string, { now }: Dialect): string {
  return `(${alias}.disabled IS NULL OR ${alias}.disabled_until <= ${now})`
}

import { StoreError } from "../../../errors/store-error.js"

/** Creates the error for a row whose foreign key names a user that does not exist. */
export function userNotFound(): StoreError {
  return new StoreError("USER_NOT_FOUND", "no user has the user id")
}

import { StoreError } from "../../error.js"

/** For a row whose foreign key names a user that there is not. */
export function userNotFound(): StoreError {
  return new StoreError("USER_NOT_FOUND", "no user has the user id")
}

import type { AuthwireClient } from "@authwire/client"
import express, { type Response, type Router } from "express"
import { type Html, html } from "./html.js"
import { moment } from "./moment.js"

type Authwire = Pick<AuthwireClient, "adapter" | "authenticators">
type Passkey = Awaited<ReturnType<Authwire["authenticators"]["listAuthenticators"]>>["authenticators"][number]

/** The maximum number of passkeys that the page shows. */
const shownPasskeys = 100

/** Returns a section for each passkey of a user. `token` is the CSRF token of the forms. */
export async function yourPasskeys({ authenticators }: Authwire, userId: string, token: string): Promise<Html[]> {
  const { authenticators: passkeys } = await authenticators.listAuthenticators({ userId, pageSize: shownPasskeys })
  return passkeys.map((passkey) => section(passkey, token))
}

/** The forms of the page, below `/devices/passkeys`. `userIdOf` returns the user who sends the form. */
export function passkeyForms({ adapter, authenticators }: Authwire, userIdOf: (response: Response) => string): Router {
  return express
    .Router()
    .post("/rename", async (request, response) => {
      const { id, name } = request.body
      const displayName = [
        ...String(name)
          .replaceAll(/\p{Cc}/gu, "")
          .trim(),
      ]
        .slice(0, 100)
        .join("")
      // The user id ensures that users can only change their own passkeys, whatever id the form contains.
      if (isCredentialId(id)) {
        await unlessGone(
          authenticators.updateAuthenticator({ credentialId: id, displayName, userId: userIdOf(response) }),
        )
      }
      response.redirect(303, "/devices")
    })
    .post("/remove", async (request, response) => {
      const { id } = request.body
      const removed = isCredentialId(id)
        ? await unlessGone(authenticators.deleteAuthenticator({ credentialId: id, userId: userIdOf(response) }))
        : undefined
      // Auth.js has linked an account for the passkey, which is of no use without it.
      const providerAccountId = removed?.authenticator?.providerAccountId
      if (providerAccountId !== undefined) await adapter.unlinkAccount({ provider: "passkey", providerAccountId })
      response.redirect(303, "/devices")
    })
}

function isCredentialId(id: unknown): id is string {
  return typeof id === "string" && /^[\w+/=-]{1,1400}$/.test(id)
}

/** Returns undefined if the passkey does not exist: another window of the user may have removed it. */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "NOT_FOUND") return undefined
    throw error
  }
}

function section(passkey: Passkey, token: string): Html {
  const { credentialId, displayName, credentialBackedUp, createTime, lastUsedTime } = passkey
  const hidden = html`<input type="hidden" name="csrfToken" value="${token}">
<input type="hidden" name="id" value="${credentialId}">`
  return html`<section class="passkey">
<h2>${displayName ?? "Passkey without a name"}</h2>
<dl>
<dt>Kept</dt><dd>${credentialBackedUp ? "synced between devices" : "on one device"}</dd>
<dt>Created</dt><dd>${moment(createTime)}</dd>
<dt>Last used</dt><dd class="used">${moment(lastUsedTime, "not yet")}</dd>
</dl>
<form class="rename row" method="post" action="/devices/passkeys/rename">
${hidden}<input name="name" value="${displayName}" maxlength="100" aria-label="Name of the passkey">
<button class="plain">Name it</button>
</form>
<form class="remove" method="post" action="/devices/passkeys/remove">
${hidden}<button class="plain">Remove</button>
</form>
</section>`
}

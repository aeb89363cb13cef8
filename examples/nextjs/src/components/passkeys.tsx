import { namePasskey, removePasskey } from "@/app/actions"
import { authenticators } from "@/auth"
import { PasskeyButton } from "./passkey-button"

/** The maximum number of passkeys that the page shows. */
const shownPasskeys = 100

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const moment = (time: { seconds: bigint }) => `${day.format(new Date(Number(time.seconds) * 1000))} UTC`

/** Shows the passkeys of a user, each with a form that names it and one that removes it. */
export async function Passkeys({ userId }: { userId: string }) {
  const { authenticators: passkeys } = await authenticators.listAuthenticators({ userId, pageSize: shownPasskeys })
  return (
    <section className="card">
      <h2>Passkeys</h2>
      {passkeys.length === 0 && <p className="soft">None yet. With one you sign in without a mail or a provider.</p>}
      <ul id="passkeys">
        {passkeys.map(({ credentialId, displayName, credentialBackedUp, createTime, lastUsedTime }) => (
          <li key={credentialId}>
            <strong>{displayName ?? "Passkey without a name"}</strong>
            <span className="soft">{credentialBackedUp ? "synced between devices" : "on one device"}</span>
            <span className="soft wide">
              {createTime && `Created ${moment(createTime)}. `}
              {lastUsedTime ? `Last used ${moment(lastUsedTime)}.` : "Not used yet."}
            </span>
            <form action={namePasskey} className="row">
              <input name="id" type="hidden" value={credentialId} />
              <input aria-label="Name of the passkey" defaultValue={displayName} maxLength={100} name="name" />
              <button className="quiet" type="submit">
                Name it
              </button>
            </form>
            <form action={removePasskey}>
              <input name="id" type="hidden" value={credentialId} />
              <button className="quiet" type="submit">
                Remove
              </button>
            </form>
          </li>
        ))}
      </ul>
      <PasskeyButton action="register">Add a passkey</PasskeyButton>
    </section>
  )
}

/** Replaces a page while Authwire is unavailable. It reloads itself. */
export function Unavailable() {
  return (
    <>
      <meta content="5" httpEquiv="refresh" />
      <h1>Please wait a moment</h1>
      <section className="card" id="unavailable">
        <p>
          The service that knows who is signed in does not answer. Nobody has been signed out. This page tries again by
          itself.
        </p>
      </section>
    </>
  )
}

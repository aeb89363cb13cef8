"use client"

/** The page for rendering errors. The cause is in the log of the server. */
export default function ErrorPage({ retry }: { retry: () => void }) {
  return (
    <>
      <h1>Something went wrong</h1>
      <section className="card" id="failed">
        <p>The fault is on our side. Nobody has been signed out.</p>
        <button onClick={() => retry()} type="button">
          Try again
        </button>
      </section>
    </>
  )
}

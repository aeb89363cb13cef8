/** Says that what a dialog edits has changed meanwhile, and offers to read it again. */
export function Stale({ reload }: { reload: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>Somebody else has changed this meanwhile. Nothing was saved.</p>
      <button type="button" onClick={reload}>
        Reload
      </button>
    </div>
  )
}

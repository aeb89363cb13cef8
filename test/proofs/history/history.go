// Package history records what callers asked and what they were told, with the times of both, for porcupine.
package history

import (
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Call is what a caller asks for. Each model says in its file which fields its methods use.
type Call struct {
	// Key names what the call is about. Calls with different keys do not affect each other. Empty: everything.
	Key string
	// Method is the name of the call in its model. The methods that only read begin with "get".
	Method string
	// Who is the number of the user, session or idempotency key among those of Key.
	Who int
	// Value is what the call writes. No other call of the history writes it.
	Value string
	// Email is the address that the call gives to a user, or asks for.
	Email string
	// If is the value that must still be stored. Empty: whatever is stored.
	If string
}

// Answer is what a caller was told. Answers are compared as a whole.
type Answer struct {
	// Reason is why the call was refused. Empty: it succeeded.
	Reason string
	// Value is what the answer shows: what is stored, what was deleted, or how many.
	Value string
	// Who is the number of the user that the answer shows, among those of the key.
	Who int
	// Email is the address of that user.
	Email string
	// Unknown is set if the caller cannot know whether the call took effect. No other field is set then.
	Unknown bool
}

// Recorder collects the operations of one history.
type Recorder struct {
	// Operations are the completed ones, and, after Complete, those with an unknown outcome.
	Operations []porcupine.Operation
	// Unknown is the number of calls with an unknown outcome, and Refused that of calls that were not taken.
	Unknown, Refused int
	// Unexpected are the errors that no model allows.
	Unexpected []error

	mutex   sync.Mutex
	begin   time.Time
	pending []porcupine.Operation
	clients int
}

// NewRecorder returns an empty history. Its times are nanoseconds of the monotonic clock since now.
func NewRecorder() *Recorder { return &Recorder{begin: time.Now()} }

// Client returns a number for a caller. A caller whose call has an unknown outcome needs a new one, because that call may
// take effect beside its next ones.
func (r *Recorder) Client() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.clients++
	return r.clients - 1
}

// UnknownSoFar returns the number of calls whose outcome is unknown.
func (r *Recorder) UnknownSoFar() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.Unknown
}

// Record makes a call and keeps its outcome. It returns the answer, and whether the call was answered or refused.
func (r *Recorder) Record(client int, call Call, do func() (Answer, error)) (Answer, bool) {
	operation := porcupine.Operation{ClientId: client, Input: call, Call: int64(time.Since(r.begin))}
	answer, err := do()
	operation.Return = int64(time.Since(r.begin))
	outcome := completed
	if err != nil {
		answer, outcome = answerTo(err)
	}

	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch outcome {
	case refused:
		// Nothing was done, so the history is the same without the call.
		r.Refused++
		return answer, true
	case unexpected:
		r.Unexpected = append(r.Unexpected, err)
	case unknown:
		r.Unknown++
	case completed:
		operation.Output = answer
		r.Operations = append(r.Operations, operation)
		return answer, true
	}
	if !strings.HasPrefix(call.Method, "get") {
		operation.Output = Answer{Unknown: true}
		r.pending = append(r.pending, operation)
	}
	return Answer{Unknown: true}, false
}

// Complete ends the history: a call with an unknown outcome may have taken effect at any time since, or never, which is the
// same as at the end.
func (r *Recorder) Complete() []porcupine.Operation {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	end := int64(time.Since(r.begin)) + 1
	for _, operation := range r.pending {
		operation.Return = end
		r.Operations = append(r.Operations, operation)
	}
	r.pending = nil
	return r.Operations
}

package models

import (
	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// Keys is the number of idempotency keys that the callers of a history share. The number 0 stands for none.
const Keys = 3

type tokenState struct {
	// The expiry of the token. Empty: there is none.
	token string
	// What the calls with each idempotency key were told.
	answers [Keys + 1]string
}

// Tokens are verification tokens. A token is created once, and used by exactly one caller, also if it has expired. A use
// with an idempotency key that has got the token before gets it again.
//
//	create: Value is the expiry.
//	use:    Who is the idempotency key. The answer has the expiry.
var Tokens = model("verification tokens", func(s tokenState, call history.Call, _ history.Answer) (history.Answer, tokenState) {
	switch {
	case call.Method == "create" && s.token != "":
		return history.Answer{Reason: "VERIFICATION_TOKEN_ALREADY_EXISTS"}, s
	case call.Method == "create":
		s.token = call.Value
		return history.Answer{Value: call.Value}, s
	case call.Who != 0 && s.answers[call.Who] != "":
		return history.Answer{Value: s.answers[call.Who]}, s
	case s.token == "":
		return history.Answer{Reason: "VERIFICATION_TOKEN_NOT_FOUND"}, s
	}
	used := s.token
	s.token = ""
	if call.Who != 0 {
		s.answers[call.Who] = used
	}
	return history.Answer{Value: used}, s
}, usedTwice)

// usedTwice lets a second call get a token.
func usedTwice(operations []porcupine.Operation) (lies []Lie) {
	for _, first := range operations {
		if callOf(first).Method != "use" || !succeeded(first) {
			continue
		}
		for position, second := range operations {
			one, other := callOf(first), callOf(second)
			sameKey := one.Who == other.Who && one.Who != 0
			if other.Method != "use" || one.Key != other.Key || sameKey {
				continue
			}
			if !answerOf(second).Unknown && answerOf(second) != answerOf(first) {
				lies = append(lies, Lie{position, answerOf(first)})
			}
		}
	}
	return lies
}

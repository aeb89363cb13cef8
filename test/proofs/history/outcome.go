package history

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type outcome int

const (
	// The call was answered.
	completed outcome = iota
	// Nothing was done, for a reason outside of the models: other writes, or a limit.
	refused
	// The write may have been done, may still be done, or may never be.
	unknown
	// Neither the service nor the connection may fail like this.
	unexpected
)

// answerTo returns what an error tells its caller.
func answerTo(err error) (Answer, outcome) {
	reason := Reason(err)
	switch status.Code(err) {
	case codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition:
		return Answer{Reason: reason}, completed
	case codes.Aborted:
		if reason == "STALE_ETAG" {
			return Answer{Reason: reason}, completed
		}
		return Answer{}, refused
	case codes.ResourceExhausted:
		return Answer{}, refused
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return Answer{}, unknown
	case codes.Internal:
		// The connection was cut in the middle of a message. The service gives a reason.
		if reason == "" {
			return Answer{}, unknown
		}
	}
	return Answer{}, unexpected
}

// Reason returns why the service failed a call, as a name of error_reason.proto without its prefix. It is empty if the
// service did not say.
func Reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "authwire" {
			return info.GetReason()
		}
	}
	return ""
}

// MayPass returns whether a call that fails like this may succeed when it is repeated.
func MayPass(err error) bool {
	_, outcome := answerTo(err)
	return outcome == refused || outcome == unknown
}

package history

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func failure(code codes.Code, reason string) error {
	if reason == "" {
		return status.Error(code, "the connection was cut")
	}
	detailed, _ := status.New(code, "failed").WithDetails(&errdetails.ErrorInfo{Domain: "authwire", Reason: reason})
	return detailed.Err()
}

func TestOutcomes(t *testing.T) {
	for _, one := range []struct {
		method  string
		err     error
		answers []Answer
		unknown int
		errors  int
	}{
		{"create", nil, []Answer{{Value: "1"}}, 0, 0},
		{"create", failure(codes.NotFound, "USER_NOT_FOUND"), []Answer{{Reason: "USER_NOT_FOUND"}}, 0, 0},
		{"update", failure(codes.Aborted, "STALE_ETAG"), []Answer{{Reason: "STALE_ETAG"}}, 0, 0},
		{"update", failure(codes.Aborted, "CONFLICT"), nil, 0, 0},
		{"create", failure(codes.ResourceExhausted, "QUEUE_FULL"), nil, 0, 0},
		{"create", failure(codes.Unavailable, ""), []Answer{{Unknown: true}}, 1, 0},
		{"create", failure(codes.DeadlineExceeded, "DEADLINE_EXCEEDED"), []Answer{{Unknown: true}}, 1, 0},
		{"create", failure(codes.Internal, ""), []Answer{{Unknown: true}}, 1, 0},
		{"create", failure(codes.Internal, "INTERNAL"), []Answer{{Unknown: true}}, 0, 1},
		{"create", failure(codes.InvalidArgument, "INVALID_FIELD"), []Answer{{Unknown: true}}, 0, 1},
		// A read without an answer has no effect that others could see.
		{"get", failure(codes.Unavailable, ""), nil, 1, 0},
	} {
		recorder := NewRecorder()
		recorder.Record(0, Call{Method: one.method}, func() (Answer, error) { return Answer{Value: "1"}, one.err })
		operations := recorder.Complete()
		if len(operations) != len(one.answers) || len(operations) == 1 && operations[0].Output != any(one.answers[0]) {
			t.Errorf("%s, %v: %v", one.method, one.err, operations)
		}
		if recorder.Unknown != one.unknown || len(recorder.Unexpected) != one.errors {
			t.Errorf("%s, %v: %d unknown, %d unexpected", one.method, one.err, recorder.Unknown, len(recorder.Unexpected))
		}
	}
}

func TestUnknownOutcomesArePendingUntilTheEnd(t *testing.T) {
	recorder := NewRecorder()
	recorder.Record(0, Call{Method: "create"}, func() (Answer, error) { return Answer{}, failure(codes.Unavailable, "") })
	recorder.Record(0, Call{Method: "use"}, func() (Answer, error) { return Answer{}, nil })
	operations := recorder.Complete()
	used, created := operations[0], operations[1]
	if created.Call >= used.Call || created.Return <= used.Return {
		t.Errorf("created from %d to %d, used from %d to %d", created.Call, created.Return, used.Call, used.Return)
	}
}

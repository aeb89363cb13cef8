package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/grpc"

	"github.com/authwire/authwire/test/proofs/dial"
	"github.com/authwire/authwire/test/proofs/history"
)

// watcher follows the feed of a tenant until it has received the event with the key `last`.
type watcher struct {
	replicas replicas
	// Where it continues, and the number of the replica.
	cursor  string
	replica int
	// roams says that it drops its stream every few seconds, and continues at the next replica.
	roams bool
	// began is called with the cursor of the first response.
	began func(cursor string)
	last  string
	log   Log
	// cursors has that of each event of the log.
	cursors []string
	// failed has the error that no watcher may get.
	failed error
}

// follow watches until the last event has come. It continues with the last cursor after each disconnect.
func (w *watcher) follow(ctx context.Context, random *rand.Rand) {
	for w.failed == nil && !w.isComplete() {
		stream, cancel := context.WithCancel(ctx)
		if w.roams {
			time.AfterFunc(time.Second+time.Duration(random.Int64N(int64(5*time.Second))), cancel)
		}
		err := w.watch(stream)
		cancel()
		switch {
		case w.isComplete():
		case ctx.Err() != nil:
			w.failed = fmt.Errorf("%s has %d events, and not the last one: %w", w.log.Watcher, len(w.log.Events), err)
		case !history.MayPass(err):
			w.failed = fmt.Errorf("%s: %w", w.log.Watcher, err)
		}
		if w.roams {
			w.replica++
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *watcher) isComplete() bool {
	return len(w.log.Events) > 0 && w.log.Events[len(w.log.Events)-1].Key == w.last
}

func (w *watcher) watch(ctx context.Context) error {
	client := authwirev1.NewEventServiceClient(w.replicas.at(w.replica))
	stream, err := client.Watch(ctx, &authwirev1.WatchRequest{StartCursor: w.cursor})
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		w.cursor = response.GetCursor()
		if event := response.GetEvent(); event != nil {
			w.log.Events = append(w.log.Events, Event{keyOf(event.GetKind(), event.GetUserId()), event.GetCreateTime().AsTime().UnixNano()})
			w.cursors = append(w.cursors, w.cursor)
			if w.isComplete() {
				return nil
			}
		}
		if w.began != nil {
			w.began(w.cursor)
			w.began = nil
		}
	}
}

func keyOf(kind authwirev1.EventKind, user string) string { return kind.String() + " " + user }

// replicas are connections to all replicas, with one API key.
type replicas []*grpc.ClientConn

func connect(endpoints []string, key string) (r replicas, err error) {
	for _, endpoint := range endpoints {
		connection, err := dial.Replica(endpoint, key)
		if err != nil {
			return r, err
		}
		r = append(r, connection)
	}
	return r, nil
}

// at returns the connection to a replica. The numbers start again after the last one.
func (r replicas) at(number int) *grpc.ClientConn { return r[number%len(r)] }

func (r replicas) close() {
	for _, connection := range r {
		_ = connection.Close()
	}
}

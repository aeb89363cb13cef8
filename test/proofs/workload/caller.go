package workload

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"

	"github.com/authwire/authwire/test/proofs/dial"
	"github.com/authwire/authwire/test/proofs/history"
)

// callTimeout is the deadline of a call. It ends the wait for a replica that does not answer.
const callTimeout = 3 * time.Second

// pause is the time between two tries of a call that prepares a history.
const pause = 50 * time.Millisecond

// connection is one over which a client of the generated code makes a call.
type connection = grpc.ClientConnInterface

// caller makes one call at a time, each through a random replica, over connections of its own.
type caller struct {
	// random decides what the caller does.
	random      *rand.Rand
	connections []*grpc.ClientConn
	round       *round
	client      int
}

func newCaller(options Options, key string, seed int64) (*caller, error) {
	c := &caller{random: rand.New(rand.NewSource(seed))}
	for replica, endpoint := range options.Endpoints {
		interceptors := []grpc.UnaryClientInterceptor{}
		if options.Fault != nil {
			interceptors = append(interceptors, options.Fault(replica))
		}
		connection, err := dial.Replica(endpoint, key, grpc.WithChainUnaryInterceptor(interceptors...))
		if err != nil {
			c.close()
			return nil, err
		}
		connection.Connect()
		c.connections = append(c.connections, connection)
	}
	return c, nil
}

func (c *caller) close() {
	for _, connection := range c.connections {
		_ = connection.Close()
	}
}

// ready returns a random connection that is open. It waits for one if there is none.
func (c *caller) ready(ctx context.Context) (*grpc.ClientConn, error) {
	for {
		first := c.connections[c.random.Intn(len(c.connections))]
		for _, connection := range append([]*grpc.ClientConn{first}, c.connections...) {
			if connection.GetState() == connectivity.Ready {
				return connection, nil
			}
			connection.Connect()
		}
		changed, cancel := context.WithTimeout(ctx, callTimeout)
		first.WaitForStateChange(changed, first.GetState())
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// call makes a call of the history. It returns false if the caller cannot know the outcome.
func (c *caller) call(call history.Call, do func(context.Context, connection) (history.Answer, error)) (history.Answer, bool) {
	connection, err := c.ready(c.round.ctx)
	if err != nil {
		return history.Answer{Unknown: true}, false
	}
	answer, known := c.round.recorder.Record(c.client, call, func() (history.Answer, error) {
		ctx, cancel := context.WithTimeout(c.round.ctx, callTimeout)
		defer cancel()
		return do(ctx, connection)
	})
	if !known {
		c.client = c.round.recorder.Client()
	}
	return answer, known
}

// prepare makes a call that is not part of the history, again and again until it succeeds or fails with `reason`.
func (c *caller) prepare(reason string, do func(context.Context, connection) error) error {
	for {
		connection, err := c.ready(c.round.ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.round.ctx, callTimeout)
		err = do(ctx, connection)
		cancel()
		if err == nil || reason != "" && history.Reason(err) == reason {
			return nil
		}
		if !history.MayPass(err) {
			return err
		}
		select {
		case <-c.round.ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// repeatable returns a context for a call with an idempotency key. The number 0 stands for none.
func repeatable(ctx context.Context, scope string, key int) context.Context {
	if key == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "idempotency-key", fmt.Sprintf("proof-key-%s-%d", scope, key))
}

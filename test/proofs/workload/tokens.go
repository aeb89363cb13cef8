package workload

import (
	"context"
	"fmt"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// Tokens create and use two verification tokens, a quarter of them expired, with and without an idempotency key.
var Tokens = Workload{Model: models.Tokens, Step: func(c *caller) {
	key := c.key() + "@example.com"
	if c.random.Intn(5) < 2 {
		createToken(c, key)
	} else {
		useToken(c, key, max(0, c.random.Intn(2*models.Keys)-models.Keys+1))
	}
}}

func createToken(c *caller, key string) {
	expires := time.Now().Add(time.Hour)
	if c.random.Intn(4) == 0 {
		expires = time.Now().Add(-time.Minute)
	}
	// Another millisecond for each token tells them apart.
	stamp := timestamppb.New(expires.Truncate(time.Second).Add(time.Duration(c.round.value()) * time.Millisecond))
	call := history.Call{Key: key, Method: "create", Value: milliseconds(stamp)}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		answer, err := authwirev1.NewVerificationTokenServiceClient(via).CreateVerificationToken(ctx,
			&authwirev1.CreateVerificationTokenRequest{Identifier: key, Token: "token", Expires: stamp})
		return history.Answer{Value: milliseconds(answer.GetVerificationToken().GetExpires())}, err
	})
}

func useToken(c *caller, key string, idempotencyKey int) {
	call := history.Call{Key: key, Method: "use", Who: idempotencyKey}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		answer, err := authwirev1.NewVerificationTokenServiceClient(via).UseVerificationToken(repeatable(ctx, key, idempotencyKey),
			&authwirev1.UseVerificationTokenRequest{Identifier: key, Token: "token"})
		return history.Answer{Value: milliseconds(answer.GetVerificationToken().GetExpires())}, err
	})
}

func milliseconds(time *timestamppb.Timestamp) string { return fmt.Sprint(time.AsTime().UnixMilli()) }

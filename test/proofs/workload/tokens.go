package workload

import (
	"context"
	"fmt"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// tokens create and use two verification tokens, a quarter of them expired, with and without an idempotency key.
var tokens = Workload{Model: models.Tokens, Step: func(c *Caller) {
	key := fmt.Sprintf("%s-%d@example.com", c.round.id, c.Random.Intn(2))
	if c.Random.Intn(5) < 2 {
		expires := time.Now().Add(time.Hour)
		if c.Random.Intn(4) == 0 {
			expires = time.Now().Add(-time.Minute)
		}
		// Another millisecond for each token, which tells them apart.
		createToken(c, key, expires.Truncate(time.Second).Add(time.Duration(c.round.value())*time.Millisecond))
		return
	}
	useToken(c, key, max(0, c.Random.Intn(2*models.Keys)-models.Keys+1))
}}

func createToken(c *Caller, key string, expires time.Time) {
	c.Call(history.Call{Key: key, Method: "create", Value: expiry(timestamppb.New(expires))}, func(ctx context.Context, connection grpc.ClientConnInterface) (history.Answer, error) {
		answer, err := authwirev1.NewVerificationTokenServiceClient(connection).CreateVerificationToken(ctx, &authwirev1.CreateVerificationTokenRequest{
			Identifier: key, Token: "token", Expires: timestamppb.New(expires),
		})
		return history.Answer{Value: expiry(answer.GetVerificationToken().GetExpires())}, err
	})
}

func useToken(c *Caller, key string, idempotency int) {
	c.Call(history.Call{Key: key, Method: "use", Who: idempotency}, func(ctx context.Context, connection grpc.ClientConnInterface) (history.Answer, error) {
		answer, err := authwirev1.NewVerificationTokenServiceClient(connection).UseVerificationToken(repeatable(ctx, key, idempotency), &authwirev1.UseVerificationTokenRequest{
			Identifier: key, Token: "token",
		})
		return history.Answer{Value: expiry(answer.GetVerificationToken().GetExpires())}, err
	})
}

func expiry(time *timestamppb.Timestamp) string { return fmt.Sprint(time.AsTime().UnixMilli()) }

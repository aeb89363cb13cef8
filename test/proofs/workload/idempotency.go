package workload

import (
	"context"
	"slices"
	"strings"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// idempotency creates users without an id, again and again with the same idempotency keys.
var idempotency = Workload{Model: models.Idempotency, Step: func(c *caller) {
	if c.random.Intn(3) == 0 {
		listUsers(c, c.key())
	} else {
		createOnce(c, c.key(), 1+c.random.Intn(models.Keys))
	}
}, Last: func(c *caller) {
	for _, idempotencyKey := range []int{1, 1} {
		createOnce(c, c.round.id+"-0", idempotencyKey)
	}
	listUsers(c, c.round.id+"-0")
}}

func createOnce(c *caller, key string, idempotencyKey int) {
	c.call(history.Call{Key: key, Method: "create", Who: idempotencyKey}, func(ctx context.Context, via connection) (history.Answer, error) {
		answer, err := authwirev1.NewUserServiceClient(via).CreateUser(repeatable(ctx, key, idempotencyKey), &authwirev1.CreateUserRequest{Name: &key})
		return history.Answer{Value: answer.GetUser().GetId()}, err
	})
}

func listUsers(c *caller, key string) {
	c.call(history.Call{Key: key, Method: "get"}, func(ctx context.Context, via connection) (history.Answer, error) {
		answer, err := authwirev1.NewUserServiceClient(via).ListUsers(ctx, &authwirev1.ListUsersRequest{NamePrefix: &key})
		var ids []string
		for _, user := range answer.GetUsers() {
			ids = append(ids, user.GetId())
		}
		slices.Sort(ids)
		return history.Answer{Value: strings.Join(ids, ",")}, err
	})
}

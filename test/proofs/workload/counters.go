package workload

import (
	"context"
	"fmt"
	"strconv"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// counters set the counters of two authenticators, sometimes to a lower or to the same value.
var counters = Workload{Model: models.Counters, Prepare: func(c *caller) error {
	if err := createUsers(c, 1); err != nil {
		return err
	}
	for key := range keysOfRound {
		err := c.prepare("AUTHENTICATOR_ALREADY_EXISTS", func(ctx context.Context, via connection) error {
			_, err := authwirev1.NewAuthenticatorServiceClient(via).CreateAuthenticator(ctx, &authwirev1.CreateAuthenticatorRequest{
				CredentialId: fmt.Sprint(c.round.id, "-", key), UserId: idOf(c.round.id, 0), ProviderAccountId: "account",
				CredentialPublicKey: "key", CredentialDeviceType: "singleDevice",
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}, Step: func(c *caller) {
	callCounters(c, c.key(), c.random.Intn(3) > 0)
}, Last: func(c *caller) {
	callCounters(c, c.round.id+"-0", true)
	callCounters(c, c.round.id+"-0", false)
}}

func callCounters(c *caller, key string, isUpdate bool) {
	call := history.Call{Key: key, Method: "get"}
	if isUpdate {
		call.Method, call.Value = "update", fmt.Sprint(max(0, c.round.value()-c.random.Intn(4)))
	}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		client := authwirev1.NewAuthenticatorServiceClient(via)
		var answer interface {
			GetAuthenticator() *authwirev1.Authenticator
		}
		var err error
		if isUpdate {
			value, _ := strconv.Atoi(call.Value)
			answer, err = client.UpdateAuthenticatorCounter(ctx,
				&authwirev1.UpdateAuthenticatorCounterRequest{CredentialId: key, NewCounter: uint32(value)})
		} else {
			answer, err = client.GetAuthenticator(ctx, &authwirev1.GetAuthenticatorRequest{CredentialId: key})
		}
		if err != nil {
			return history.Answer{}, err
		}
		return history.Answer{Value: fmt.Sprint(answer.GetAuthenticator().GetCounter())}, nil
	})
}

package workload

import (
	"context"
	"fmt"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// Sessions sign two users in and out, in every way that there is.
var Sessions = Workload{Model: models.Sessions, Prepare: func(c *caller) error {
	return createUsers(c, keysOfRound)
}, Step: func(c *caller) {
	methods := []string{
		"create", "create", "create", "create", "get", "get", "get", "get", "update", "delete", "revoke",
		"revokeUser", "revokeUser", "revokeAll", "disable", "enable", "enable",
	}
	callSessions(c, history.Call{Key: c.key(), Method: methods[c.random.Intn(len(methods))]}, c.random.Intn(2) == 0)
}, Last: func(c *caller) {
	for _, method := range []string{"enable", "create", "get", "get", "revokeUser", "get", "get"} {
		callSessions(c, history.Call{Key: c.round.id + "-0", Method: method}, true)
	}
}}

// callSessions makes a call about the user whose id is the key. The session is a new one, the newest, or any.
func callSessions(c *caller, call history.Call, newest bool) {
	switch call.Method {
	case "create":
		if call.Who = c.round.count(call.Key, 1); call.Who >= models.SessionsOfUser {
			return
		}
	case "get", "update", "delete", "revoke":
		count := min(c.round.count(call.Key, 0), models.SessionsOfUser)
		if count == 0 {
			return
		}
		if call.Who = count - 1; !newest {
			call.Who = c.random.Intn(count)
		}
	case "revokeAll":
		call.Key = ""
	}
	if call.Method == "create" || call.Method == "update" {
		call.Value = fmt.Sprint("value-", c.round.value())
	}
	token := fmt.Sprint("token-of-", call.Key, "-", call.Who)
	if call.Method == "revoke" && c.round.recall(token) == "" {
		call.Method = "delete"
	}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		return callSession(ctx, authwirev1.NewSessionServiceClient(via), authwirev1.NewUserServiceClient(via), c, call, token)
	})
}

func callSession(
	ctx context.Context, client authwirev1.SessionServiceClient, users authwirev1.UserServiceClient, c *caller, call history.Call, token string,
) (history.Answer, error) {
	value := &structpb.Struct{Fields: map[string]*structpb.Value{"value": structpb.NewStringValue(call.Value)}}
	held := func(session *authwirev1.Session, err error) (history.Answer, error) {
		return history.Answer{Value: session.GetExtra().GetFields()["value"].GetStringValue()}, err
	}
	switch call.Method {
	case "create":
		provider := c.round.provider
		answer, err := client.CreateSession(ctx, &authwirev1.CreateSessionRequest{
			SessionToken: token, UserId: call.Key, Expires: timestamppb.New(time.Now().Add(time.Hour)), Extra: value, Provider: &provider,
		})
		if err == nil {
			c.round.learn(token, answer.GetSession().GetId())
		}
		return held(answer.GetSession(), err)
	case "get":
		answer, err := client.GetSessionAndUser(ctx, &authwirev1.GetSessionAndUserRequest{SessionToken: token})
		if id := answer.GetUser().GetId(); err == nil && id != call.Key {
			return history.Answer{Value: "of another user: " + id}, nil
		}
		return held(answer.GetSession(), err)
	case "update":
		answer, err := client.UpdateSession(ctx, &authwirev1.UpdateSessionRequest{
			SessionToken: token, Extra: value, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"extra"}},
		})
		return held(answer.GetSession(), err)
	case "delete":
		answer, err := client.DeleteSession(ctx, &authwirev1.DeleteSessionRequest{SessionToken: token})
		return held(answer.GetSession(), err)
	case "revoke":
		answer, err := client.RevokeSession(ctx, &authwirev1.RevokeSessionRequest{Id: c.round.recall(token)})
		return held(answer.GetSession(), err)
	case "revokeUser":
		answer, err := client.RevokeUserSessions(ctx, &authwirev1.RevokeUserSessionsRequest{UserId: call.Key})
		return history.Answer{Value: fmt.Sprint(answer.GetRevoked())}, err
	case "revokeAll":
		provider := c.round.provider
		_, err := client.RevokeAllSessions(ctx, &authwirev1.RevokeAllSessionsRequest{Provider: &provider})
		return history.Answer{}, err
	case "disable":
		answer, err := users.DisableUser(ctx, &authwirev1.DisableUserRequest{Id: call.Key})
		return history.Answer{Value: fmt.Sprint(answer.GetRevokedSessions())}, err
	}
	_, err := users.EnableUser(ctx, &authwirev1.EnableUserRequest{Id: call.Key})
	return history.Answer{}, err
}

// Package planted breaks promises on purpose: it stands between callers and replicas, and answers as a service with a certain
// mistake would. The histories of such a service must be rejected.
package planted

import (
	"context"
	"maps"
	"sync"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Fault stands in front of a replica, whose position it is given.
type Fault = func(replica int) grpc.UnaryClientInterceptor

// TokenReadThenDeleted uses a verification token in two steps: it reads the token, and then deletes it. A caller who has read
// a token gets it, although another one has deleted it meanwhile. Calls with an idempotency key are left alone.
func TokenReadThenDeleted() Fault {
	var tokens sync.Map
	return func(int) grpc.UnaryClientInterceptor {
		return func(ctx context.Context, method string, request, answer any, via *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
			var read any
			use, isUse := request.(*authwirev1.UseVerificationTokenRequest)
			if isUse {
				read, _ = tokens.Load(use.GetIdentifier())
			}
			err := call(ctx, method, request, answer, via, options...)
			if created, isCreate := answer.(*authwirev1.CreateVerificationTokenResponse); isCreate && err == nil {
				tokens.Store(created.GetVerificationToken().GetIdentifier(), created.GetVerificationToken())
			}
			if !isUse || read == nil {
				return err
			}
			tokens.CompareAndDelete(use.GetIdentifier(), read)
			outgoing, _ := metadata.FromOutgoingContext(ctx)
			if len(outgoing.Get("idempotency-key")) == 0 && status.Code(err) == codes.NotFound {
				answer.(*authwirev1.UseVerificationTokenResponse).VerificationToken = read.(*authwirev1.VerificationToken)
				return nil
			}
			return err
		}
	}
}

// RevocationSkipsReplica lets the second replica keep its answers to GetSessionAndUser until a call through any replica changes
// or ends the session; but of a RevokeUserSessions through another replica it does not learn.
func RevocationSkipsReplica() Fault {
	var mutex sync.Mutex
	kept, writes := map[string]*authwirev1.GetSessionAndUserResponse{}, 0
	return func(replica int) grpc.UnaryClientInterceptor {
		return func(ctx context.Context, method string, request, answer any, via *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
			get, isGet := request.(*authwirev1.GetSessionAndUserRequest)
			mutex.Lock()
			before, written := kept[get.GetSessionToken()], writes
			mutex.Unlock()
			if isGet && replica == 1 && before != nil {
				proto.Merge(answer.(proto.Message), before)
				return nil
			}
			err := call(ctx, method, request, answer, via, options...)
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case !isGet:
				writes++
				maps.DeleteFunc(kept, func(token string, one *authwirev1.GetSessionAndUserResponse) bool {
					return concerns(request, replica, token, one)
				})
			case replica == 1 && err == nil && writes == written:
				kept[get.GetSessionToken()] = proto.Clone(answer.(proto.Message)).(*authwirev1.GetSessionAndUserResponse)
			}
			return err
		}
	}
}

// concerns returns whether the second replica learns that a call through a replica concerns a session.
func concerns(request any, replica int, token string, one *authwirev1.GetSessionAndUserResponse) bool {
	switch request := request.(type) {
	case interface{ GetSessionToken() string }:
		return request.GetSessionToken() == token
	case *authwirev1.RevokeSessionRequest:
		return request.GetId() == one.GetSession().GetId()
	case *authwirev1.RevokeUserSessionsRequest:
		return request.GetUserId() == one.GetUser().GetId() && replica == 1
	case *authwirev1.DisableUserRequest:
		return request.GetId() == one.GetUser().GetId()
	case *authwirev1.RevokeAllSessionsRequest:
		return true
	}
	return false
}

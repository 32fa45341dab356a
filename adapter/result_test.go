package adapter

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A program can tell from each text whether it leaves open that the call had an effect.
func TestFailureInDoubt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	lost := errors.New("connection lost")
	for name, tt := range map[string]struct {
		ctx  context.Context
		err  error
		sent bool
		want bool
	}{
		"cancelled before":  {over, lost, false, false},
		"cancelled":         {over, lost, true, true},
		"argument":          {t.Context(), &argumentError{}, false, false},
		"denied":            {t.Context(), &deniedError{}, false, false},
		"not approved":      {t.Context(), &approvalError{}, false, false},
		"rejected":          {t.Context(), mcp.ErrRejected, true, false},
		"error":             {t.Context(), &mcp.RPCError{Code: 1, Message: "no"}, true, false},
		"given up":          {t.Context(), mcpclient.ErrTaskCancelled, true, true},
		"late":              {t.Context(), &mcpclient.TimeoutError{}, true, true},
		"acted first":       {t.Context(), errActedFirst, true, true},
		"deadline":          {t.Context(), context.DeadlineExceeded, true, true},
		"too many rounds":   {t.Context(), mcpclient.ErrTooManyRounds, true, false},
		"too large":         {t.Context(), transport.ErrMessageTooLarge, true, false},
		"not a result":      {t.Context(), mcp.ErrInvalidResult, true, false},
		"not reachable":     {t.Context(), lost, false, false},
		"lost":              {t.Context(), lost, true, true},
		"HTTP status":       {t.Context(), &transport.HTTPError{Status: 500}, false, false},
		"sign-in is needed": {t.Context(), &mcp.SignInError{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := failure(tt.ctx, tt.err, tt.sent)
			check.Equal(t, text, doubttext.In(text), tt.want)
		})
	}
}

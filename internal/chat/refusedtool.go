package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// badGrammar matches the errors of llama.cpp, and of programs built on it, about a tool's schema that cannot become a
// grammar. They refuse all tools of the request and name none.
var badGrammar = regexp.MustCompile(`(?i)failed to parse grammar|failed to initialize samplers|json schema conversion failed|` +
	`unrecognized schema|invalid pattern|error parsing grammar|unable to generate parser|must be set for an integer|min_value or max_value`)

// searchTime bounds the search for the tool that a host refuses.
const searchTime = 2 * time.Minute

// findRefusedTool finds the tool whose schema the host refuses, by bisection, and names it in the error. Each step is a
// request for one token. It returns err unchanged if it has another reason, or if the search fails or takes longer than
// searchTime.
func (c *Client) findRefusedTool(ctx context.Context, r *Request, err error) error {
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Status < http.StatusBadRequest || !badGrammar.MatchString(failure.Message) {
		return err
	}
	if len(r.Tools) == 0 || r.Format != nil { // a format is a grammar, too
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	suspects := r.Tools
	for len(suspects) > 1 {
		half := suspects[:len(suspects)/2]
		probe := &Request{Model: r.Model, Messages: []Message{Text(User, "Hi")}, Tools: half, MaxTokens: 1}
		d, wrong := c.encode(probe, false)
		if wrong != nil {
			return err
		}
		wrong = c.wire.attempt(ctx, d.request, func(ctx context.Context) Answer { return d.newAnswer(ctx, Deltas{}) })
		switch refused, ok := errors.AsType[*Error](wrong); {
		case ctx.Err() != nil:
			return err
		case ok && badGrammar.MatchString(refused.Message):
			suspects = half
		case ok && (refused.Code == CodeUnreachable || refused.Status >= http.StatusBadRequest):
			return err // another reason
		default:
			suspects = suspects[len(half):]
		}
	}
	named := *failure
	named.Message = fmt.Sprintf("the host refuses the schema of the tool %q, and with it all tools: %s", suspects[0].Name, failure.Message)
	return &named
}

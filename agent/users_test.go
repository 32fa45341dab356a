package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

type userKey struct{}

func userOf(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// crowd is two servers that fight for the name of a tool while two users work with them by one toolset and one model.
type crowd struct {
	t       *testing.T
	toolset *adapter.Toolset

	changing     sync.Mutex // guards changes, and is held while the servers change
	changes      int
	files, vault *server

	mu       sync.Mutex
	approved map[string]bool // calls, as they are written by note
	ran      map[string]int  // calls that ran, by user and server
	stale    int             // calls that were not sent because of a change
}

// note is how a call is written: for whom it is, where, and with which arguments.
func note(user, server, arguments string) string { return user + "@" + server + " " + arguments }

// save adds a tool that says whose it is, and takes what is meant for that server, from a user who may save there, as approved.
func (c *crowd) save(s *server, owner, name string) {
	s.AddTool(&sdk.Tool{Name: name, Description: owner, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var args struct{ User, For string }
			check.NoError(c.t, json.Unmarshal(r.Params.Arguments, &args))
			c.mu.Lock()
			defer c.mu.Unlock()
			switch {
			case args.For != owner:
				c.t.Errorf("%s got what was meant for %s: %s", owner, args.For, r.Params.Arguments)
			case !c.approved[note(args.User, owner, string(r.Params.Arguments))]:
				c.t.Errorf("%s ran what was not approved: %s", owner, r.Params.Arguments)
			case args.User == "bob" && owner == "vault":
				c.t.Errorf("bob's calls are denied at vault, and it ran one: %s", r.Params.Arguments)
			}
			c.ran[args.User+"@"+owner]++
			return text(string(r.Params.Arguments)), nil
		})
}

// change goes round: both servers have "save", which is prefixed; only files has,
// and a tool with vault's prefixed name as well; only vault has.
func (c *crowd) change() {
	c.changing.Lock()
	defer c.changing.Unlock()
	switch c.changes++; c.changes % 3 {
	case 0:
		c.save(c.files, "files", "save")
	case 1:
		c.vault.RemoveTools("save")
		c.save(c.files, "files", "vault__save")
	case 2:
		c.files.RemoveTools("vault__save", "save")
		c.save(c.vault, "vault", "save")
	}
	check.NoError(c.t, c.toolset.Refresh(c.t.Context()))
}

// answer is the model: it calls every tool that it is offered, for the server that the tool says it is of, with the
// same ids in every turn. Lists change while it thinks.
func (c *crowd) answer(ctx context.Context, p prompt) (*model.Response, error) {
	user := userOf(ctx)
	for _, told := range results(p.Request.Messages) {
		check.That(c.t, !strings.Contains(told, `"user"`) || strings.Contains(told, `"user":"`+user+`"`),
			"the model was told for %s: %s", user, told)
	}
	if p.Request.ToolChoice == model.ChoiceNone {
		return replied(textPart(user)), nil
	}
	var calls []run.Part
	for i, tool := range p.Request.Tools {
		arguments := fmt.Sprintf(`{"for":%q,"turn":%d,"user":%q}`, tool.Description, len(p.Request.Messages), user)
		calls = append(calls, toolCall(fmt.Sprint("call_", i), tool.Name, arguments))
	}
	if len(calls) == 0 { // both servers are changing
		calls = []run.Part{toolCall("call_0", "save", `{"for":"nobody"}`)}
	}
	if len(p.Request.Messages)%5 < 2 {
		c.change()
	}
	// A last turn without tools has no tool choice, and this text is its answer.
	return replied(append([]run.Part{textPart(user)}, calls...)...), nil
}

// approve approves what the agent is about to run, except bob's calls at vault, which
// are denied for good. Lists change while it thinks.
func (c *crowd) approve(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	if !strings.Contains(string(a.Arguments), `"for":"`+a.Server+`"`) || !strings.Contains(string(a.Arguments), `"user":"`+userOf(ctx)+`"`) {
		c.t.Errorf("%s is asked about %s at %s", userOf(ctx), a.Arguments, a.Server)
	}
	if userOf(ctx) == "bob" && a.Server == "vault" {
		return approval.Decision{Remember: approval.ScopeServer}, nil
	}
	c.mu.Lock()
	c.approved[note(userOf(ctx), a.Server, string(a.Arguments))] = true
	n := len(c.approved)
	c.mu.Unlock()
	if n%4 == 0 {
		c.change()
	}
	return approval.Decision{Allow: true}, nil
}

// Two users, two servers, one model: names and ids collide, lists change at the
// worst moments, and nothing gets to where it does not belong.
func TestUsersDoNotMeet(t *testing.T) {
	const turns = 40
	c := &crowd{t: t, files: emptyServer(), vault: emptyServer(), approved: map[string]bool{}, ran: map[string]int{}}
	c.save(c.files, "files", "save")
	c.save(c.vault, "vault", "save")
	c.toolset = openAll(t, &adapter.Options{User: userOf},
		adapter.Server{Name: "files", Transport: c.files.connect(t)}, adapter.Server{Name: "vault", Transport: c.vault.connect(t)})
	a := withTools(t, play(c.answer), c.toolset, &agent.Options{
		Person: agent.Person{Approve: c.approve}, Limits: run.Limits{Turns: turns, Calls: 10 * turns, Failures: turns},
	})
	var users sync.WaitGroup
	for _, user := range []string{"ada", "bob"} {
		users.Go(func() {
			result := new(agent.Result)
			for e, err := range a.Events(context.WithValue(t.Context(), userKey{}, user), human("I am "+user)) {
				if err != nil {
					t.Error(err)
					return
				}
				result.Add(e)
				if e, ok := e.(*agent.ToolEnd); ok && errors.Is(e.Result.Err, adapter.ErrStale) {
					c.mu.Lock()
					c.stale++
					c.mu.Unlock()
				}
			}
			check.Equal(t, user+" was told", result.Output, user)
		})
	}
	users.Wait()
	check.That(t, c.ran["ada@files"] != 0 && c.ran["ada@vault"] != 0 && c.ran["bob@files"] != 0 && c.stale != 0, "ran %v, and %d were stale: want some of each", c.ran, c.stale)
}

package viewing

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// access is a view's access to its server. It sends a call directly if the call needs no approval and may be repeated, so
// that a polling view leaves no records. Every other call is a run of package talk: it can wait for a person, and is in
// doubt if the process dies before its result.
type access struct {
	host.Server // direct access

	service *Service
	view    *view
}

// errUnapproved means that a call needs approval.
var errUnapproved = errors.New("the call needs approval")

// onlyApproved sends only calls that need no approval or have it already. Others fail with errUnapproved.
var onlyApproved = &caller.Caller{
	Approve: func(approval.Func) approval.Func {
		return func(context.Context, *approval.Request) (approval.Decision, error) {
			return approval.Decision{}, errUnapproved
		}
	},
}

// CallTool implements [host.Server].
func (a *access) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	began := time.Now()
	call := a.view.call
	call.Tool, call.Arguments = name, arguments
	var res *mcp.CallToolResult
	err := errUnapproved
	if a.service.mayRepeat(call.Server, name) {
		res, err = a.Server.CallTool(caller.With(ctx, onlyApproved), name, arguments, opts...)
	}
	if errors.Is(err, errUnapproved) {
		res, err = a.service.opts.Talk.CallForView(ctx, a.view.user(), call)
		if errors.Is(err, talk.ErrTooMany) {
			return nil, &mcp.RPCError{Code: -32000, Message: "too many calls of this conversation wait for the user"}
		}
		return res, err
	}
	text, failed := "", err != nil
	if err != nil {
		text = "The call has failed: " + err.Error()
	} else {
		text, failed = res.Text(), res.IsError
	}
	a.view.window.queue.offer(talk.ViewCallEvent(call, text, failed, time.Since(began)))
	return res, err
}

// mayRepeat reports whether a call of a tool for views may be repeated. It returns true for an unknown tool, whose call fails.
func (s *Service) mayRepeat(server, name string) bool {
	tool, err := s.opts.Tools.ViewTools().Catalog(profile.Plain).LookupStored(server, name, "")
	return err != nil || tool.Repeatable()
}

// question is a view's question to its user.
type question struct {
	Session string `json:"session"`
	ID      string `json:"ask"`
	Kind    string `json:"kind"` // link or message
	Server  string `json:"server"`
	Text    string `json:"text"`           // with invisible characters escaped
	Href    string `json:"href,omitempty"` // the link's address
}

// ask asks the user, and waits for the answer. The error is apps.ErrDenied if the answer is no, or the window is gone.
// If the context ends first, the window removes the question.
func (v *view) ask(ctx context.Context, kind, text, href string) error {
	id := host.CallID(ctx)
	answer := make(chan bool, 1)
	v.mu.Lock()
	v.questions[id] = answer
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		delete(v.questions, id)
		v.mu.Unlock()
	}()
	if !v.put("view-ask", question{v.id, id, kind, hosttext.Line(v.call.Server, 100), text, href}) {
		return apps.ErrDenied
	}
	select {
	case yes := <-answer:
		if !yes {
			return apps.ErrDenied
		}
		return nil
	case <-ctx.Done():
		v.put("view-asked", map[string]string{"session": v.id, "ask": id})
		return ctx.Err()
	}
}

// Reply replies to a question of a view. The error is talk.ErrGone if the question is not open.
func (s *Service) Reply(user, id, question string, yes bool) error {
	v, err := s.viewOf(user, id)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	answer := v.questions[question]
	if answer == nil {
		return talk.ErrGone
	}
	delete(v.questions, question)
	answer <- yes
	return nil
}

// onOpenLink asks the user to visit a page.
func (v *view) onOpenLink(ctx context.Context, url string) error {
	return v.ask(ctx, "link", hosttext.Escape(url), url)
}

// onMessage adds the view's text to the conversation, attributed to the view.
func (a *access) onMessage(ctx context.Context, content []mcp.Content) error {
	text, err := viewframe.Message(content)
	if err != nil {
		return err
	}
	v, user := a.view, a.view.user()
	if err := v.ask(ctx, "message", hosttext.Escape(text), ""); err != nil {
		return err
	}
	return a.service.WithContexts(user, v.call.Conversation, func(before ...string) error {
		return a.service.opts.Talk.Say(hosting.WithUser(ctx, user), user, v.call.Conversation, viewframe.Attribution(v.call.Server)+text, before...)
	})
}

// onDisplayMode asks the page to show the view in another mode. It does not wait for the page.
func (v *view) onDisplayMode(_ context.Context, mode string) (string, error) {
	v.put("view-mode", map[string]string{"session": v.id, "mode": mode})
	return mode, nil
}

// SetMode tells a view that the user has changed its mode. The error is talk.ErrUnfit for a mode that the page or
// the view does not have, or talk.ErrGone if there is no such view.
func (s *Service) SetMode(user, id string, mode string) error {
	v, err := s.viewOf(user, id)
	if err != nil {
		return err
	}
	if mode != "inline" && mode != "fullscreen" {
		return talk.ErrUnfit
	}
	if err := v.host.SetContext(host.HostContext{DisplayMode: mode}); err != nil {
		return talk.ErrUnfit
	}
	return nil
}

// onSize asks the page to give the view another height. The page decides on the width.
func (v *view) onSize(_, height *float64) {
	if height != nil {
		v.put("view-size", map[string]any{"session": v.id, "height": *height})
	}
}

// onCloseRequest tells the page that the view wants to be closed.
func (v *view) onCloseRequest() {
	v.put("view-close", map[string]string{"session": v.id})
}

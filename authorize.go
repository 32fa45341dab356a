package mcpchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// authorize gives each remote server of a file an HTTP client that signs in.
func (h *Host) authorize(ctx context.Context, file []config.Server) {
	var storeErr error
	store := h.options.Tokens
	if store == nil {
		if store, storeErr = signin.Tokens(""); storeErr != nil { // as in a container whose files cannot be written
			store = oauth.NewMemoryStore()
		}
	}
	h.signIns = map[string]*oauth.Transport{}
	for i := range file {
		s := &file[i]
		if s.Disabled || s.Err != nil {
			continue
		}
		t, err := signin.Authorize(s, &signin.Options{
			Client: cmp.Or(h.options.Name, "mcpchain"), Store: store, Receiver: h.receiver(s, storeErr),
		})
		switch {
		case t != nil:
			h.signIns[s.Name] = t
		case err != nil && s.OAuth != nil: // a server without OAuth settings works without a sign-in
			s.Err = fmt.Errorf("sign in: %w", err)
		}
	}
	if t := h.options.Terminal; t != nil && storeErr != nil && len(h.signIns) > 0 {
		t.note(ctx, "a sign-in lasts until the end of the program only: %v", storeErr)
	}
}

// receiver returns a receiver that asks the person at the terminal to sign in. Without a terminal it refuses, and says
// what to do.
func (h *Host) receiver(s *config.Server, storeErr error) oauth.Receiver {
	t := h.options.Terminal
	switch {
	case t == nil && storeErr != nil:
		return signin.NotNow(fmt.Sprintf("make the folder of its tokens usable, and sign in once in a program with a terminal (%v)", storeErr))
	case t == nil:
		return signin.NotNow("open the file once in a program with a terminal, and sign in there")
	}
	return &signin.Page{
		Advice: "start the program again, and sign in", Port: signin.Port(s),
		Visit: func(ctx context.Context, v *signin.Visit) (string, error) { return t.visit(ctx, s.Name, v) },
	}
}

// signIn asks the person to sign in to the servers that need it, one after the other. It returns those that Open does
// not wait for, and that may need it.
func (h *Host) signIn(ctx context.Context, t *Terminal) (late []string) {
	for _, s := range h.tools.Servers() {
		switch {
		case h.signIns[s.Name] == nil:
		case errors.Is(s.Err, adapter.ErrConnecting):
			late = append(late, s.Name)
		default:
			h.signInTo(ctx, t, s)
		}
	}
	return late
}

// signInLate waits until a server is connected or has failed, and then asks the person to sign in to it if it needs that.
func (h *Host) signInLate(t *Terminal, name string) {
	_ = h.tools.Refresh(h.life, name) // the status has the error
	end, err := t.begin(h.life)       // the time for a sign-in begins after the question that is being asked
	if err != nil {
		return
	}
	end()
	for _, s := range h.tools.Servers() {
		if s.Name == name {
			h.signInTo(h.life, t, s)
		}
	}
}

// signInTo asks the person to sign in to a server if it needs that.
func (h *Host) signInTo(ctx context.Context, t *Terminal, s adapter.ServerStatus) {
	if _, needed := errors.AsType[*signin.NeededError](s.Err); !needed {
		return
	}
	err := h.signIns[s.Name].SignIn(signin.Asking(ctx))
	if err == nil {
		err = h.tools.Refresh(ctx, s.Name)
	}
	if err != nil && h.life.Err() == nil {
		t.note(ctx, "sign in to %s: %v", s.Name, signin.Failure(err))
	}
}

// endSignIns ends the sign-ins under way, and waits for those in the background.
func (h *Host) endSignIns() {
	h.end()
	for _, t := range h.signIns {
		_ = t.Close()
	}
	h.late.Wait()
}

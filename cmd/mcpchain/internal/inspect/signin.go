package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// signIns gives servers over HTTP their stored tokens, and with -sign-in gets new ones. The
// report has failed sign-ins.
func (p *program) signIns(ctx context.Context, file []config.Server, o *options, r *report) (closeAll func(), err error) {
	var open []*oauth.Transport
	closeAll = func() {
		for _, t := range open {
			_ = t.Close()
		}
	}
	store, err := signin.Tokens(o.tokens)
	switch {
	case err != nil && (o.signIn || o.tokens != ""):
		return closeAll, fmt.Errorf("-tokens: %w", err)
	case err != nil: // as in a container whose files cannot be written
		store = oauth.NewMemoryStore()
	}
	for i := range file {
		s := &file[i]
		t, err := signin.Authorize(s, &signin.Options{Client: "mcpchain", Store: store, Receiver: p.receiver(s, o)})
		switch {
		case err != nil && (s.OAuth != nil || o.signIn):
			r.byName[s.Name].Error = s.Annotate(fmt.Errorf("sign in: %w", err)).Error()
			continue
		case err != nil || t == nil:
			continue
		}
		open = append(open, t)
		if o.signIn {
			// Sign in first: connecting does not wait long enough for a person.
			if err := t.SignIn(ctx); err != nil {
				r.byName[s.Name].Error = s.Annotate(fmt.Errorf("sign in: %w", signin.Failure(err))).Error()
			}
		}
	}
	return closeAll, ctx.Err()
}

// receiver returns what receives the answer of a sign-in.
func (p *program) receiver(s *config.Server, o *options) oauth.Receiver {
	if !o.signIn {
		return signin.NotNow(fmt.Sprintf("add the flags -sign-in -server %q, or a token in its \"headers\"", s.Name))
	}
	return &signin.Page{Port: signin.Port(s), Visit: func(ctx context.Context, v *signin.Visit) (string, error) {
		pasted, err := p.user.Visit(ctx, s.Name, v)
		if errors.Is(err, signin.ErrNoAnswer) { // the page may be open elsewhere
			<-ctx.Done()
			err = ctx.Err()
		}
		return pasted, err
	}}
}

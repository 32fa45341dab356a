package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// obtain gets a token and stores it: one that is stored already or can be refreshed, else a new
// one. For a new one a person may have to sign in, which is an error for an unattended renewal.
func (t *Transport) obtain(ctx context.Context, r *renewal) (*session, error) {
	s, err := t.locate(ctx, r)
	if err != nil {
		return nil, err
	}
	before, next, err := t.reuseOrRefresh(ctx, r, s)
	if err != nil || next != nil {
		return next, err
	}
	if r.unattended && t.flow.interactive() {
		return nil, fmt.Errorf("token for %s cannot be refreshed: %w", t.name, backoff.ErrUnattended)
	}
	scopes, err := scopesFor(r.demand, s, before, t.opts.Scopes)
	if err != nil {
		return nil, err
	}
	if err := t.saveLink(ctx, s); err != nil { // first, so that SignOut finds a registration without a token
		return nil, err
	}
	tok, err := t.flow.acquire(ctx, t, s, scopes)
	if err != nil {
		return nil, err
	}
	tok.Requested = union(scopes, tok.Requested)
	next = &session{site: s, token: tok, acquired: !r.unprompted}
	if err := save(ctx, t.opts.Store, t.tokenKey(s.resource, s.issuer()), tok); err != nil {
		t.keepUnsaved(next, r, err)
	}
	t.log.Debug("got a token", "server", t.name, "issuer", safeURL(s.issuer()), "token", tok)
	return next, nil
}

// keepUnsaved marks a session whose token could not be stored. The token is used nevertheless: the previous refresh token may
// have been used up, and the person would have to sign in again.
func (t *Transport) keepUnsaved(s *session, r *renewal, err error) {
	t.log.Warn("a token is not stored: it is lost with this process", "server", t.name, "error", err)
	s.unsaved, s.replaces = true, r.stored
}

// locate finds the authorization server. An early renewal, which no server demanded, goes to the
// one that issued the token.
func (t *Transport) locate(ctx context.Context, r *renewal) (*site, error) {
	if !r.unprompted {
		return t.discover(ctx, r.demand, r.previous)
	}
	s := *r.previous.site
	if s.meta.TokenEndpoint != "" {
		return &s, nil
	}
	meta, err := t.fetch.fetchMetadata(ctx, s.issuer())
	if err != nil {
		return t.discover(ctx, r.demand, r.previous) // it may be a server without metadata
	}
	s.meta = meta
	return &s, nil
}

// reuseOrRefresh serves a renewal with a stored token of another process, or refreshes the stored one. Only one process at a time
// refreshes a token, because most servers accept a refresh token once. next is nil if a token has to be acquired. before is the
// stored token, nil for none.
func (t *Transport) reuseOrRefresh(ctx context.Context, r *renewal, s *site) (before *token, next *session, err error) {
	key := t.tokenKey(s.resource, s.issuer())
	used := false // the refresh token was used: it may not work again
	err = t.opts.Store.Update(ctx, key, func(ctx context.Context, old []byte) ([]byte, error) {
		tok := t.latest(r, s, old)
		if tok == nil {
			return old, nil
		}
		before = tok
		if t.isNewToken(r, tok) {
			next = &session{site: s, token: tok}
			return old, nil
		}
		if tok.Refresh == "" || r.acquire {
			return old, nil
		}
		renewed, err := t.refresh(ctx, s, tok)
		if err != nil {
			return nil, err
		}
		used = true
		if renewed == nil { // remember the requested scopes
			return json.Marshal(&token{Requested: tok.Requested, ClientID: tok.ClientID})
		}
		next = &session{site: s, token: renewed}
		return json.Marshal(renewed)
	})
	switch {
	case err == nil:
	case !used:
		return nil, nil, fmt.Errorf("renew the token for %s: %w", t.name, err)
	case next == nil: // the new token will replace it
		t.log.Warn("a refused refresh token stays in the store", "server", t.name, "error", err)
	default:
		t.keepUnsaved(next, r, err)
	}
	if next == nil {
		return before, nil, nil
	}
	return before, next, t.saveLink(ctx, s)
}

// latest returns the token to refresh: the stored one, or the session's if that is newer and could not be stored. It is
// nil if there is none.
func (t *Transport) latest(r *renewal, s *site, stored []byte) *token {
	tok := new(token)
	known := decodeEntry(stored, tok) && !t.isForeign(tok, s)
	r.stored = tok.Access
	if p := r.previous; p != nil && p.unsaved && p.replaces == tok.Access && p.site.issuer() == s.issuer() {
		return p.token
	}
	if !known {
		return nil
	}
	return tok
}

// isNewToken reports whether a stored token differs from the refused one and may be valid.
func (t *Transport) isNewToken(r *renewal, tok *token) bool {
	if r.previous != nil && r.previous.token.Access == tok.Access {
		return false
	}
	return t.isUsable(tok) && !tok.isExpired(time.Now(), tok.lastMargin()) && covers(tok.Granted, r.demand.scopes)
}

// refresh gets a new token for the refresh token of old, nil if the refresh token is not valid.
func (t *Transport) refresh(ctx context.Context, s *site, old *token) (*token, error) {
	client, err := t.client(ctx, s)
	if err != nil {
		return nil, err
	}
	if client == nil || client.ID != old.ClientID || old.Thumbprint != "" && !t.dpop.isBoundTo(old) {
		return nil, nil // the token belongs to another client or key
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}}
	tok, err := t.grant(ctx, s, old.Granted, &tokenRequest{
		doing: "refresh the token", client: client, form: form,
	})
	refused, ok := errors.AsType[*ServerError](err)
	if ok && refused.Code == "invalid_grant" || t.registrar.removeUnknown(ctx, client, err) {
		t.log.Debug("the refresh token is not valid any more", "issuer", safeURL(s.issuer()))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tok.Requested = old.Requested
	tok.Refresh = cmp.Or(tok.Refresh, old.Refresh) // servers need not rotate it
	return tok, nil
}

// client returns our identity at a site: the configured client, or the one of a stored
// registration; nil if there is none.
func (t *Transport) client(ctx context.Context, s *site) (*Credentials, error) {
	if c := t.flow.configuredClient(s); c != nil {
		return c, nil
	}
	r, err := t.registrar.stored(ctx, s.issuer())
	if err != nil || r == nil {
		return nil, err
	}
	return r.credentials(s.issuer()), nil
}

// isForeign reports whether a stored token was issued to another client than the configured one.
func (t *Transport) isForeign(tok *token, s *site) bool {
	c := t.flow.configuredClient(s)
	return c != nil && c.ID != tok.ClientID
}

// isUsable reports whether this transport can send a stored token.
func (t *Transport) isUsable(tok *token) bool {
	switch tok.Type {
	case "Bearer":
		return isSendable(tok.Access) && (t.dpop == nil || !t.opts.RequireDPoP)
	case "DPoP":
		return isSendable(tok.Access) && t.dpop.isBoundTo(tok)
	}
	return false
}

// restore returns the session of an earlier process, nil if this transport cannot use one.
func (t *Transport) restore(ctx context.Context) (*session, error) {
	l, err := t.storedLink(ctx)
	if err != nil || l == nil {
		return nil, err
	}
	if _, err := t.flow.choose([]string{l.Issuer}, l.Issuer); err != nil {
		return nil, nil // another configuration stored it
	}
	s, tok := &site{resource: l.Resource, meta: &issuerMetadata{Issuer: l.Issuer}}, new(token)
	ok, err := load(ctx, t.opts.Store, t.tokenKey(l.Resource, l.Issuer), tok)
	if err != nil || !ok || !t.isUsable(tok) || t.isForeign(tok, s) {
		return nil, err
	}
	return &session{site: s, token: tok}, nil
}

// storedLink returns the stored link to the server's authorization server, nil for none and for one
// that cannot be this server's.
func (t *Transport) storedLink(ctx context.Context) (*link, error) {
	l := new(link)
	ok, err := load(ctx, t.opts.Store, t.linkKey(), l)
	if err != nil || !ok || !t.isResource(l.Resource) || l.Issuer == "" {
		return nil, err
	}
	return l, nil
}

// saveLink remembers the authorization server of the server's token.
func (t *Transport) saveLink(ctx context.Context, s *site) error {
	want := link{s.resource, s.issuer()}
	var stored link
	ok, err := load(ctx, t.opts.Store, t.linkKey(), &stored)
	if err == nil && ok && stored == want {
		return nil
	}
	return save(ctx, t.opts.Store, t.linkKey(), &want) // even if it could not be read
}

func (t *Transport) linkKey() Key {
	return Key{Account: t.opts.Account, Resource: canonical(t.server)}
}

func (t *Transport) tokenKey(resource, issuer string) Key {
	return Key{Account: t.opts.Account, Resource: resource, Issuer: issuer}
}

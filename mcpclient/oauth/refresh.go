package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"
)

// Times before the end of a token. Within earlyRenewal of it the token is renewed while it is still
// used; within lastUse it is not used, because it could expire on its way to the server.
const (
	earlyRenewal = time.Minute
	lastUse      = 5 * time.Second
	renewalPause = 10 * time.Second // the pause after a failed renewal, while the token is valid
)

// earlyMargin returns the time before a token's end to renew it: at most a fifth of its life.
func (t *token) earlyMargin() time.Duration { return t.margin(earlyRenewal, 5) }

// lastMargin returns the time before a token's end to stop using it: at most a tenth of its life.
func (t *token) lastMargin() time.Duration { return t.margin(lastUse, 10) }

// margin returns longest, but not more than a part of the token's life.
func (t *token) margin(longest, part time.Duration) time.Duration {
	if t.Issued.IsZero() || t.Expiry.IsZero() {
		return longest
	}
	return min(longest, t.Expiry.Sub(t.Issued)/part)
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
		doing: "refresh the token", client: client, form: form, secretKeys: []string{"refresh_token"},
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

package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// firstEra is the one that the client begins with.
func (c *Client) firstEra() (era, error) {
	if isLegacy(c.opts.Revision) {
		return &legacyEra{revision: c.opts.Revision}, nil
	}
	return newModernEra(cmp.Or(c.opts.Revision, modernRevisions[0]), c)
}

// negotiate finds the server's era and revision. A modern server is recognised
// by its answer to server/discover; every other answer, and none at all, is a
// legacy server's, which gets initialize.
func (c *Client) negotiate(ctx context.Context) error {
	if isLegacy(c.opts.Revision) {
		return c.adoptLegacy(ctx, c.current())
	}
	if c.opts.Revision != "" {
		return c.adopt(ctx, c.current())
	}
	probeErr := c.probe(ctx)
	if probeErr == nil {
		return nil
	}
	revision, redial, err := c.fallback(ctx, probeErr)
	if err != nil {
		return err
	}
	c.log.Debug("no modern server, falling back to initialize", "because", probeErr)
	if l := c.link.Load(); redial || l.dead() != nil { // some servers die of a request before initialize
		_ = l.end()
		if err := c.dial(ctx); err != nil {
			return fmt.Errorf("%w (it ended on server/discover: %w)", err, probeErr)
		}
	}
	legacyErr := c.adoptLegacy(ctx, &legacyEra{revision: revision})
	if legacyErr == nil || !errors.Is(probeErr, errSilent) {
		return legacyErr
	}
	if _, refused := errors.AsType[*RPCError](legacyErr); refused {
		// A modern server that was slow to start refuses initialize, and is up.
		if e, err := newModernEra(modernRevisions[0], c); err == nil && c.adopt(ctx, e) == nil {
			return nil
		}
	}
	return fmt.Errorf("%w (and before that, %v)", legacyErr, probeErr)
}

// errSilent marks a probe that was not answered in time.
var errSilent = errors.New("no answer within Options.ProbeTimeout")

// probe asks for the modern era. When the server names other revisions it is
// asked once more with one of those.
func (c *Client) probe(ctx context.Context) error {
	probe, cancel := context.WithTimeout(ctx, c.opts.ProbeTimeout)
	defer cancel()
	err := c.adopt(probe, c.current())
	if err != nil && probe.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", err, errSilent)
	}
	named, ok := namedRevisions(err)
	if !ok {
		return err
	}
	revision, ok := mutual(modernRevisions[:], named)
	if !ok {
		return err
	}
	e, eraErr := newModernEra(revision, c)
	if eraErr != nil {
		return eraErr
	}
	return c.adopt(probe, e)
}

// adopt makes e the era of the client and does its handshake.
func (c *Client) adopt(ctx context.Context, e era) error {
	c.era.Store(&eraBox{e})
	server, err := e.handshake(ctx, c)
	if err != nil {
		return c.scrubbed(err)
	}
	c.server.Store(server)
	return nil
}

// fallback decides what the failure of the probe means: the legacy revision to
// go on with, and whether that takes a new connection; or that the failure
// stands.
func (c *Client) fallback(ctx context.Context, probeErr error) (revision string, redial bool, err error) {
	newest := legacyRevisions[0]
	if ctx.Err() != nil {
		return "", false, probeErr
	}
	if named, ok := namedRevisions(probeErr); ok {
		if _, modern := mutual(modernRevisions[:], named); modern {
			return "", false, probeErr
		}
		if revision, ok := mutual(legacyRevisions[:], named); ok {
			return revision, false, nil
		}
		return "", false, fmt.Errorf("%w: %w", probeErr, &RevisionError{Client: revisions(), Server: named})
	}
	var rpc *RPCError
	var status *HTTPError
	switch {
	case errors.As(probeErr, &status):
		if status.transient() || status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			return "", false, probeErr
		}
		return newest, false, nil
	case errors.As(probeErr, &rpc):
		if rpc.modern() {
			return "", false, probeErr
		}
		return newest, false, nil
	case errors.Is(probeErr, errSilent), errors.Is(probeErr, ErrInvalidResult), errors.Is(probeErr, ErrMessageTooLarge):
		return newest, false, nil
	case c.link.Load().exchange != nil:
		return "", false, probeErr // a broken exchange says nothing about the server
	}
	return newest, true, nil
}

// mutual picks the first of ours that is among theirs.
func mutual(ours, theirs []string) (string, bool) {
	for _, r := range ours {
		if slices.Contains(theirs, r) {
			return r, true
		}
	}
	return "", false
}

// namedRevisions returns the revisions that the server says it speaks.
func namedRevisions(err error) ([]string, bool) {
	var mismatch *RevisionError
	if errors.As(err, &mismatch) {
		return mismatch.Server, true
	}
	var rpc *RPCError
	if !errors.As(err, &rpc) || rpc.Code != CodeUnsupportedRevision {
		return nil, false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Supported) == 0 {
		return nil, false
	}
	return data.Supported, true
}

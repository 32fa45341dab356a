package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// negotiate finds the server's era and revision. A modern server is recognised
// by its answer to server/discover; every other answer, and none at all, is a
// legacy server's, which gets initialize.
func (c *Client) negotiate(ctx context.Context) error {
	switch revision := c.opts.Revision; {
	case isLegacy(revision):
		return c.initialize(ctx, revision)
	case isModern(revision):
		return c.discover(ctx, revision)
	}
	err := c.probe(ctx)
	if err == nil {
		return nil
	}
	fallback, legacy := c.fallback(ctx, err)
	if !legacy {
		return err
	}
	c.log.Debug("no modern server, falling back to initialize", "because", err)
	if l := c.link.Load(); l.dead() != nil { // some servers die of a request before initialize
		l.end(ErrClosed)
		if dialErr := c.dial(ctx); dialErr != nil {
			return fmt.Errorf("%w (it ended on server/discover: %w)", dialErr, err)
		}
	}
	return c.initialize(ctx, fallback)
}

// probe asks for the modern era. When the server names other revisions it is
// asked once more with one of those.
func (c *Client) probe(ctx context.Context) error {
	probe, cancel := context.WithTimeout(ctx, c.opts.ProbeTimeout)
	defer cancel()
	err := c.discover(probe, modernRevisions[0])
	if named, ok := namedRevisions(err); ok {
		if i := slices.IndexFunc(modernRevisions[:], func(r string) bool { return slices.Contains(named, r) }); i >= 0 {
			return c.discover(probe, modernRevisions[i])
		}
	}
	return err
}

// discover does the modern handshake.
func (c *Client) discover(ctx context.Context, revision string) error {
	e, err := newModernEra(revision, c.opts)
	if err != nil {
		return err
	}
	return c.adopt(ctx, e)
}

// initialize does the legacy handshake.
func (c *Client) initialize(ctx context.Context, revision string) error {
	return c.adopt(ctx, &legacyEra{revision: revision})
}

func (c *Client) adopt(ctx context.Context, e era) error {
	c.era.Store(&eraBox{e})
	server, err := e.handshake(ctx, c)
	if err != nil {
		return err
	}
	c.server.Store(server)
	return nil
}

// fallback decides what the failure of the probe means: the legacy revision to
// go on with, or that the failure stands.
func (c *Client) fallback(ctx context.Context, err error) (revision string, legacy bool) {
	newest := legacyRevisions[0]
	if ctx.Err() != nil {
		return "", false
	}
	if named, ok := namedRevisions(err); ok {
		for _, r := range legacyRevisions {
			if slices.Contains(named, r) {
				return r, true
			}
		}
		return "", false
	}
	var rpc *RPCError
	var status *HTTPError
	switch {
	case errors.As(err, &rpc):
		return newest, rpc.Code != CodeHeaderMismatch && rpc.Code != CodeMissingCapability && rpc.Code != CodeUnsupportedRevision
	case errors.As(err, &status):
		return newest, !status.transient() && status.Status != 401 && status.Status != 403
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrInvalidResult):
		return newest, true
	}
	// The connection broke. Over HTTP that says nothing about the server; a
	// process may have died of a request that it did not know.
	return newest, c.link.Load().exchange == nil
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

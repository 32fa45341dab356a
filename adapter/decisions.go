package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// newKey returns the key of a decision about a call.
func newKey(scope approval.Scope, user string, t *Tool, arguments json.RawMessage) approval.Key {
	k := approval.Key{
		Scope:  scope,
		User:   user,
		Server: t.server.label,
		Origin: t.server.origin,
		Place:  t.server.address,
	}
	if scope == approval.ScopeServer {
		return k
	}
	k.Tool, k.Fingerprint = t.def.Name, t.fingerprint
	if scope == approval.ScopeArguments {
		sum := sha256.Sum256(canonical(arguments))
		k.Arguments = hex.EncodeToString(sum[:])
	}
	return k
}

// serverOrigin returns a hash of the identity of a server's transport: the command line and its
// directory, or the URL without user info. The environment and headers are left out, because
// tokens in them change. A Transport without an identity counts by its type.
func serverOrigin(s *Server) string {
	identity := ""
	switch t := s.Transport.(type) {
	case *mcpclient.HTTP:
		identity = (&mcpclient.HTTP{URL: stripUser(t.URL), SSE: t.SSE}).Identity()
	case interface{ Identity() string }:
		identity = t.Identity()
	}
	if identity == "" {
		identity = fmt.Sprintf("%T", s.Transport)
	}
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])
}

// maxAddress bounds the result of serverAddress, in bytes.
const maxAddress = 1024

// serverAddress returns where a server is: the program and its directory, or the URL. It leaves out
// arguments, user info and query, which may be secret. It is UTF-8, although paths need not be.
func serverAddress(s *Server) string {
	address := ""
	switch t := s.Transport.(type) {
	case *mcpclient.Command:
		dir, err := filepath.Abs(t.Dir)
		if err != nil {
			dir = t.Dir
		}
		return excerpt.Limit(strings.ToValidUTF8(t.Path+" in "+dir, "\ufffd"), maxAddress)
	case *mcpclient.HTTP:
		address = t.URL
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return excerpt.Limit((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), maxAddress)
}

// stripUser returns a URL without its user info. What is not a URL is returned as it is.
func stripUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.User = nil
	return u.String()
}

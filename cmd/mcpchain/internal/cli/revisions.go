package cli

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Revisions are the values of -revision: the revisions of the protocol by server. The revision of ""
// is for all other servers.
type Revisions map[string]string

// RevisionFlag declares -revision.
func (c *Command) RevisionFlag(r Revisions) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.Var(r, "revision", "use this `revision` of the protocol for all servers or, as server=revision, for one; may be repeated")
	})
}

// String implements [flag.Value]. It returns the default, which is empty.
func (r Revisions) String() string { return "" }

// Set implements [flag.Value]. It reads revision or server=revision.
func (r Revisions) Set(s string) error {
	at := strings.LastIndexByte(s, '=')
	server, revision := s[:max(0, at)], s[at+1:]
	if known := mcpclient.Revisions(); !slices.Contains(known, revision) {
		return fmt.Errorf("want one of %s, or server=revision", strings.Join(known, ", "))
	}
	if _, dup := r[server]; dup {
		return fmt.Errorf("%q is given twice", s)
	}
	r[server] = revision
	return nil
}

// Apply sets the revisions of servers, and replaces the revisions of the file. The error names a
// server that is not there; then nothing is set.
func (r Revisions) Apply(servers []adapter.Server) error {
	for name := range r {
		if name != "" && !slices.ContainsFunc(servers, func(s adapter.Server) bool { return s.Name == name }) {
			return fmt.Errorf("-revision: there is no server %q to connect to", name)
		}
	}
	for i := range servers {
		s := &servers[i]
		s.Revision = cmp.Or(r[s.Name], r[""], s.Revision)
	}
	return nil
}

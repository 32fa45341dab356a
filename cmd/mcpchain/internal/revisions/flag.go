// Package revisions has the flag -revision, which sets the protocol revision of servers.
package revisions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Usage is the usage of the flag.
const Usage = "use this `revision` of the protocol for all servers or, as server=revision, for one; may be repeated"

// Flag is a [flag.Value] with the revisions by server. The revision of "" is for all other servers.
type Flag map[string]string

// String implements [flag.Value]. It returns the default, which is empty.
func (f Flag) String() string { return "" }

// Set implements [flag.Value]. It reads revision or server=revision.
func (f Flag) Set(s string) error {
	at := strings.LastIndexByte(s, '=')
	server, revision := s[:max(0, at)], s[at+1:]
	if known := mcpclient.Revisions(); !slices.Contains(known, revision) {
		return fmt.Errorf("want one of %s, or server=revision", strings.Join(known, ", "))
	}
	if _, dup := f[server]; dup {
		return fmt.Errorf("%q is given twice", s)
	}
	f[server] = revision
	return nil
}

// Apply sets the revisions of servers, and replaces the revisions of the file. The error names a
// server that is not there; then nothing is set.
func (f Flag) Apply(servers []adapter.Server) error {
	for name := range f {
		if name != "" && !slices.ContainsFunc(servers, func(s adapter.Server) bool { return s.Name == name }) {
			return fmt.Errorf("-revision: there is no server %q to connect to", name)
		}
	}
	for i := range servers {
		s := &servers[i]
		if revision, ok := f[s.Name]; ok {
			s.Revision = revision
		} else if revision, ok := f[""]; ok {
			s.Revision = revision
		}
	}
	return nil
}

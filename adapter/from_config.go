package adapter

import "github.com/mcpchain/mcpchain/mcpclient/config"

// FromConfig returns the enabled servers of a file for [Open], with all that the file says of
// them but their sign-in, and the servers that it leaves out: each has an Err with the place of the
// mistake. The loader of the file has Filters set, or servers with lists of tools are left out, too.
func FromConfig(c *config.Config) (servers []Server, left []ServerStatus) {
	for i := range c.Servers {
		switch s := &c.Servers[i]; {
		case s.Disabled:
		case s.Err != nil:
			left = append(left, ServerStatus{Name: s.Name, Err: s.At(s.Err)})
		default:
			servers = append(servers, Server{
				Name: s.Name, Transport: s.Transport, Revision: s.Revision, Policy: Policy{Start: Start(s.Start), IdleTimeout: s.Timeout}, Allow: s.Allow, Deny: s.Deny,
			})
		}
	}
	return servers, left
}

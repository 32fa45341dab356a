package adapter

import "github.com/mcpchain/mcpchain/mcpclient/config"

// FromConfig returns the enabled servers of an mcp.json for [Open], with all settings but their
// sign-in. left has the servers that cannot be used; the Err of each names the line in the file. If
// the file was not loaded with Loader.AllowFilters, a server with lists of allowed tools is among
// them.
func FromConfig(c *config.Config) (servers []Server, left []ServerStatus) {
	for i := range c.Servers {
		switch s := &c.Servers[i]; {
		case s.Disabled:
		case s.Err != nil:
			left = append(left, ServerStatus{Name: s.Name, Err: s.Annotate(s.Err)})
		default:
			servers = append(servers, Server{
				Name:      s.Name,
				Transport: s.Transport,
				Revision:  s.Revision,
				Policy:    Policy{Start: Start(s.Start), IdleTimeout: s.Timeout},
				Allow:     s.Allow,
				Deny:      s.Deny,
			})
		}
	}
	return servers, left
}
